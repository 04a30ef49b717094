"""``policy list`` and ``backend list``: what is installed, and from where.

A plugin that is broken is a row of the listing, never a failure of it.
"""

from __future__ import annotations

import argparse
from collections.abc import Collection, Iterable, Sequence

from ironic_ownership import plugins
from ironic_ownership.cli import base
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


def _options(plugin: plugins.Plugin) -> list[str]:
    target = plugin.target
    return [option.name for option in target.options] if target else []


def _status(plugin: plugins.Plugin) -> str:
    if plugin.target is None:
        return 'broken'
    return 'deprecated' if getattr(plugin.target, 'deprecated', '') else 'ok'


def _remark(plugin: plugins.Plugin) -> str | None:
    """Return why the plugin is broken, or what to use instead."""
    if plugin.error is not None:
        return f'{plugin.error.cause}. {plugin.error.hint}'
    return getattr(plugin.target, 'deprecated', '') or None


def identity(selected: Collection[str]) -> Iterable[_Column]:
    """Return the columns that say what a plugin is, and where it is from.

    :param selected: the names that the configuration has.
    """
    return (
        _Column('name', lambda p: p.name),
        _Column('kind', _kind),
        _Column('distribution', lambda p: _distribution(p)[0]),
        _Column('version', lambda p: _distribution(p)[1]),
        _Column('selected', lambda p: p.name in selected),
    )


STANDING: Sequence[_Column] = (
    _Column('capabilities', _capabilities),
    _Column('status', _status),
    _Column('remark', _remark),
)
"""The columns that say what a plugin can do, and whether it can be used."""


def _columns(selected: Collection[str]) -> Sequence[_Column]:
    return (*identity(selected), _Column('options', _options), *STANDING)


NOTES = """\
"selected" tells whether the configuration names it. "status" is ok,
deprecated or broken, and "remark" says what to use instead, or why it cannot
be loaded."""


class ListPolicy(base.Lister):
    """List the installed ownership policies, and where they come from."""

    uses_api = False

    notes = NOTES
    examples = ('policy list', 'policy list -f json')

    def take_action(self, parsed_args: argparse.Namespace) -> base.Table:
        return self.table(
            _columns(self.wiring.policy_names),
            plugins.installed(plugins.POLICIES),
        )


class ListBackend(base.Lister):
    """List the installed membership backends, and where they come from."""

    uses_api = False

    notes = NOTES
    examples = ('backend list', 'backend list -f json')

    def take_action(self, parsed_args: argparse.Namespace) -> base.Table:
        return self.table(
            _columns([self.wiring.backend_name]),
            plugins.installed(plugins.BACKENDS),
        )
