"""``policy|backend list|show``: what is installed, and all that it declares.

A plugin that is broken is a row of the listing, never a failure of it.
"""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Collection, Sequence
from typing import Any, ClassVar

from ironic_ownership import plugins
from ironic_ownership.cli import base, errors
from ironic_ownership.conf import configuration
from ironic_ownership.contracts import policy
from ironic_ownership.observe import columns

_Column = columns.Column[plugins.Plugin]


def _distribution(plugin: plugins.Plugin) -> tuple[str | None, str | None]:
    """Return name and version of the package that brings the plugin."""
    whole = plugin.distribution
    if whole is None or ' and ' in whole or ' ' not in whole:
        return whole, None
    name, _, version = whole.rpartition(' ')
    return name, version


def _kind(plugin: plugins.Plugin) -> str | None:
    if plugin.target is None:
        return None
    if plugin.group == plugins.BACKENDS:
        return 'backend'
    is_filter = issubclass(plugin.target, policy.FilterPolicy)
    return 'filter' if is_filter else 'assigner'


def _capabilities(plugin: plugins.Plugin) -> list[str]:
    target = plugin.target
    if target is None:
        return []
    if issubclass(target, policy.Policy):
        return ['rebalancing'] if getattr(target, 'rebalancing', 0) else []
    return sorted(capability.value for capability in target.capabilities)


def _status(plugin: plugins.Plugin) -> str:
    if plugin.target is None:
        return 'broken'
    return 'deprecated' if getattr(plugin.target, 'deprecated', '') else 'ok'


def _remark(plugin: plugins.Plugin) -> str | None:
    """Return why the plugin is broken, or what to use instead."""
    if plugin.error is not None:
        return f'{plugin.error.cause}. {plugin.error.hint}'
    return getattr(plugin.target, 'deprecated', '') or None


def _target(shown: plugins.Plugin) -> str | None:
    found = shown.target
    if found is None:
        return None
    return f'{found.__module__}:{found.__qualname__}'


def _contract_version(shown: plugins.Plugin) -> int | None:
    return getattr(shown.target, 'contract_version', None)


def _summary(shown: plugins.Plugin) -> str | None:
    text = (getattr(shown.target, '__doc__', None) or '').strip()
    return text.splitlines()[0] if text else None


def _options(shown: plugins.Plugin) -> list[dict[str, Any]]:
    """Return the options with stable keys, each with all of them."""
    target = shown.target
    if target is None:
        return []
    return [
        {
            'name': option.name,
            'group': configuration.group_of(shown.name, target, option),
            'type': option.type.value,
            'default': columns.plain(option.default),
            'required': option.required,
            'secret': option.secret,
            'minimum': option.minimum,
            'maximum': option.maximum,
            'regex': option.regex,
            'aliases': list(option.aliases),
            'help': option.help,
        }
        for option in target.options
    ]


def _in_words(option: dict[str, Any]) -> str:
    default = option['default']
    said = [option['type']]
    if option['required']:
        said.append('required')
    elif default is not None:
        said.append(f'default {columns.text(default) or "empty"}')
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

    def shown(self, *more: _Column) -> Sequence[_Column]:
        """Return the columns, with those that only one command has."""
        selected: Collection[str] = (
            self.wiring.policy_names
            if self.group == plugins.POLICIES
            else [self.wiring.backend_name]
        )
        return (
            _Column('name', lambda p: p.name),
            _Column('kind', _kind),
            _Column('distribution', lambda p: _distribution(p)[0]),
            _Column('version', lambda p: _distribution(p)[1]),
            _Column('selected', lambda p: p.name in selected),
            *more,
            _Column('capabilities', _capabilities),
            _Column('status', _status),
            _Column('remark', _remark),
        )


class _List(_OfPlugins, base.Lister):
    keys = (
        *('name', 'kind', 'distribution', 'version', 'selected', 'options'),
        *('capabilities', 'status', 'remark'),
    )

    def take_action(self, parsed_args: argparse.Namespace) -> base.Table:
        names = _Column('options', lambda p: [o['name'] for o in _options(p)])
        return self.table(self.shown(names), plugins.installed(self.group))


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

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            'name',
            metavar=self.word.upper(),
            help=f'name of the {self.word}, as in [ownership]',
        )
        return parser

    def words(self, cell: Any) -> Any:
        if isinstance(cell, Sequence) and cell and isinstance(cell[0], dict):
            return '\n'.join(map(_in_words, cell))
        return super().words(cell)

    def take_action(self, parsed_args: argparse.Namespace) -> Any:
        known = plugins.names(self.group)
        if parsed_args.name not in known:
            raise errors.unknown(self.word, parsed_args.name, set(known))
        shown = (
            *self.shown(
                _Column('summary', _summary),
                _Column('target', _target),
                _Column('contract_version', _contract_version),
            ),
            _Column('options', _options),
        )
        found = plugins.find(self.group, parsed_args.name)
        return columns.keys(shown), columns.row(shown, found)


class ShowPolicy(_Show):
    """Show one ownership policy: where it is from and what it declares."""

    examples = ('policy show shard_key', 'policy show peer_list -f json')
    group, word = plugins.POLICIES, 'policy'


class ShowBackend(_Show):
    """Show one membership backend: where it is from and what it declares."""

    examples = ('backend show db', 'backend show tooz -f json')
    group, word = plugins.BACKENDS, 'backend'
