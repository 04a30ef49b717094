"""``policy|backend list|show``: what is installed, and all that it declares.

A plugin that is broken is a row of the listing, never a failure of it.
"""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Collection, Sequence
from typing import Any, ClassVar

from ironic_ownership import plugins
from ironic_ownership.api import schemas
from ironic_ownership.cli import base, errors, formatters
from ironic_ownership.conf import configuration
from ironic_ownership.contracts import policy

_PLAIN = (
    *('default', 'required', 'secret', 'minimum', 'maximum', 'regex'),
    *('aliases', 'help'),
)
"""Attributes of an option that are shown as they are."""


def _distribution(plugin: plugins.Plugin) -> tuple[str | None, str | None]:
    """Return name and version of the package that brings the plugin."""
    whole = plugin.distribution
    if whole is None or ' and ' in whole or ' ' not in whole:
        return whole, None
    name, _, version = whole.rpartition(' ')
    return name, version


def _kind(target: type[Any]) -> str:
    if not issubclass(target, policy.Policy):
        return 'backend'
    is_filter = issubclass(target, policy.FilterPolicy)
    return 'filter' if is_filter else 'assigner'


def _capabilities(target: type[Any]) -> list[str]:
    if issubclass(target, policy.Policy):
        return ['rebalancing'] if getattr(target, 'rebalancing', 0) else []
    return sorted(capability.value for capability in target.capabilities)


def _options(name: str, target: type[Any]) -> list[dict[str, Any]]:
    """Return the options with stable keys, each with all of them."""
    return [
        {
            'name': option.name,
            'group': configuration.group_of(name, target, option),
            'type': option.type.value,
            **{key: schemas.plain(getattr(option, key)) for key in _PLAIN},
        }
        for option in target.options
    ]


def _in_words(option: dict[str, Any]) -> str:
    default = option['default']
    said = [option['type']]
    if option['required']:
        said.append('required')
    elif default is not None:
        said.append(f'default {formatters.text(default) or "empty"}')
    if option['secret']:
        said.append('secret')
    head = f'[{option["group"]}] {option["name"]} ({", ".join(said)})'
    return '\n'.join(
        [head, *(f'  {line}' for line in textwrap.wrap(option['help'], 66))]
    )


class _OfPlugins(base.Shown[Any]):
    """A command about plugins of one group.

    :cvar group: of entry points.
    """

    uses_api = False
    notes = """\
"selected" shows whether the configuration names it. "status" is ok, deprecated
or broken, and "remark" names a replacement, or the reason why it cannot be
loaded."""
    group: ClassVar[str]

    def row(self, plugin: plugins.Plugin) -> dict[str, Any]:
        """Return the cells of a plugin; a broken one declares nothing."""
        selected: Collection[str] = (
            self.wiring.policy_names
            if self.group == plugins.POLICIES
            else [self.wiring.backend_name]
        )
        distribution, version = _distribution(plugin)
        target, remark, status = plugin.target, '', 'broken'
        if target is not None:
            remark = getattr(target, 'deprecated', '')
            status = 'deprecated' if remark else 'ok'
        if plugin.error is not None:
            remark = f'{plugin.error.cause}. {plugin.error.hint}'
        doc = (target and target.__doc__) or ''
        return {
            'name': plugin.name,
            'kind': target and _kind(target),
            'distribution': distribution,
            'version': version,
            'selected': plugin.name in selected,
            'summary': doc.strip().partition('\n')[0] or None,
            'target': target and f'{target.__module__}:{target.__qualname__}',
            'contract_version': target and target.contract_version,
            'capabilities': _capabilities(target) if target else [],
            'status': status,
            'remark': remark or None,
            'options': _options(plugin.name, target) if target else [],
        }


class _List(_OfPlugins, base.Lister):
    keys = (
        *('name', 'kind', 'distribution', 'version', 'selected', 'options'),
        *('capabilities', 'status', 'remark'),
    )

    def take_action(self, parsed_args: argparse.Namespace) -> base.Table:
        rows = [self.row(one) for one in plugins.installed(self.group)]
        for row in rows:
            row['options'] = [option['name'] for option in row['options']]
        return self.keys, [[row[key] for key in self.keys] for row in rows]


class ListPolicy(_List):
    """List the installed ownership policies, and where they come from."""

    group = plugins.POLICIES
    examples = ('policy list', 'policy list -f json')


class ListBackend(_List):
    """List the installed membership backends, and where they come from."""

    group = plugins.BACKENDS
    examples = ('backend list', 'backend list -f json')


class _Show(_OfPlugins, base.ShowOne):
    word: ClassVar[str]

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            'name',
            metavar=self.word.upper(),
            help=f'name of the {self.word}, as in [ownership]',
        )

    def words(self, cell: Any) -> Any:
        if isinstance(cell, Sequence) and cell and isinstance(cell[0], dict):
            return '\n'.join(map(_in_words, cell))
        return super().words(cell)

    def take_action(self, parsed_args: argparse.Namespace) -> Any:
        known = plugins.names(self.group)
        if parsed_args.name not in known:
            raise errors.unknown(self.word, parsed_args.name, set(known))
        row = self.row(plugins.find(self.group, parsed_args.name))
        return tuple(row), [*row.values()]


class ShowPolicy(_Show):
    """Show one ownership policy: where it is from and what it declares."""

    examples = ('policy show shard_key', 'policy show peer_list -f json')
    group, word = plugins.POLICIES, 'policy'


class ShowBackend(_Show):
    """Show one membership backend: where it is from and what it declares."""

    examples = ('backend show db', 'backend show tooz -f json')
    group, word = plugins.BACKENDS, 'backend'
