"""``policy show`` and ``backend show``: all that one plugin declares."""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Collection, Sequence
from typing import Any

from ironic_ownership import plugins
from ironic_ownership.cli import base, errors, plugin
from ironic_ownership.conf import plugin as plugin_conf
from ironic_ownership.observe import columns

_Column = columns.Column[plugins.Plugin]


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
            'group': plugin_conf.group_of(shown.name, target, option),
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


class _ShowPlugin(base.ShowOne):
    """The base of both commands."""

    uses_api = False

    group = ''
    word = ''

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

    def selected(self) -> Collection[str]:
        """Return the names that the configuration has."""
        raise NotImplementedError

    def take_action(self, parsed_args: argparse.Namespace) -> Any:
        known = plugins.names(self.group)
        if parsed_args.name not in known:
            raise errors.unknown(self.word, parsed_args.name, set(known))
        shown = plugins.find(self.group, parsed_args.name)
        selected = self.selected()
        all_columns = (
            *plugin.identity(selected),
            _Column('summary', _summary),
            _Column('target', _target),
            _Column('contract_version', _contract_version),
            *plugin.STANDING,
            _Column('options', _options),
        )
        return columns.keys(all_columns), columns.row(all_columns, shown)


class ShowPolicy(_ShowPlugin):
    """Show one ownership policy: where it is from and what it declares."""

    notes = plugin.NOTES
    examples = ('policy show shard_key', 'policy show peer_list -f json')
    group = plugins.POLICIES
    word = 'policy'

    def selected(self) -> Collection[str]:
        return self.wiring.policy_names


class ShowBackend(_ShowPlugin):
    """Show one membership backend: where it is from and what it declares."""

    notes = plugin.NOTES
    examples = ('backend show db', 'backend show tooz -f json')
    group = plugins.BACKENDS
    word = 'backend'

    def selected(self) -> Collection[str]:
        return [self.wiring.backend_name]
