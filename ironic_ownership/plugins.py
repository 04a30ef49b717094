"""Discovery, loading and validation of plugins, including built-in ones.

The only importer of stevedore. stevedore logs a plugin that fails to load and
continues, and on a clash of names silently prefers one of them; here both are
faults that prevent the start.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib.metadata
from collections.abc import Callable, Iterable
from typing import cast

import stevedore

from ironic_ownership.contracts import (
    backend,
    exceptions,
    foreign_errors,
    plugin_validation,
    policy,
)

POLICIES = 'ironic_ownership.policies'
BACKENDS = 'ironic_ownership.backends'

Class = type[policy.Policy] | type[backend.MembershipBackend]


@dataclasses.dataclass(frozen=True)
class Plugin:
    """One installed entry point: its class, or the error of loading it.

    :param distribution: name and version of its package.
    """

    group: str
    name: str
    distribution: str | None
    target: Class | None = None
    error: exceptions.PluginError | None = None


def installed(group: str) -> list[Plugin]:
    """Return every plugin of a group, loaded or with its error, by name."""
    names = {entry.name for entry in entry_points(group)}
    return [_find(group, name) for name in sorted(names)]


def policies(names: Iterable[str]) -> dict[str, type[policy.Policy]]:
    """Load the named policies.

    :raises ConfigurationError: listing the faults of all of them.
    """
    found = _load(POLICIES, names)
    return cast('dict[str, type[policy.Policy]]', found)


def node_fields() -> frozenset[str]:
    """Return the optional fields of nodes that installed policies request.

    Installed ones, even if not selected here: this process also decides for
    the members that selected others.
    """
    return frozenset(
        field
        for plugin in installed(POLICIES)
        if plugin.target is not None
        for field in cast('type[policy.Policy]', plugin.target).node_fields
    )


def backend_class(name: str) -> type[backend.MembershipBackend]:
    """Load the named membership backend.

    :raises ConfigurationError: if it can't be used, with the reason.
    """
    found = _load(BACKENDS, [name])[name]
    return cast('type[backend.MembershipBackend]', found)


def failed(
    group: str, name: str, exc: BaseException
) -> exceptions.PluginError:
    """Return the error of a plugin that raised when it was built."""
    return exceptions.PluginError(
        group,
        name,
        _find(group, name).distribution,
        f'fails on its options: {foreign_errors.described(exc)}',
        hint='Repair or uninstall that package',
    )


def origin(target: Class) -> str:
    """Return the name of a loaded plugin, and its package."""
    for group, kind in ((POLICIES, 'policy'), (BACKENDS, 'backend')):
        found = [p for p in installed(group) if p.target is target]
        if found:
            names = ' or '.join(repr(plugin.name) for plugin in found)
            return f'{kind} {names} from {found[0].distribution}'
    return ''


def named(group: str, name: str) -> str:
    """Return a name and its package, without loading any other plugin."""
    kind = {POLICIES: 'policy', BACKENDS: 'backend'}[group]
    return f'{kind} {name!r} from {_find(group, name).distribution}'


def _load(group: str, names: Iterable[str]) -> dict[str, Class]:
    plugins = [_find(group, name) for name in names]
    faults = [str(plugin.error) for plugin in plugins if plugin.error]
    if faults:
        raise exceptions.ConfigurationError(faults)
    return {p.name: p.target for p in plugins if p.target is not None}


def _find(group: str, name: str) -> Plugin:
    entries = [e for e in entry_points(group) if e.name == name]
    providers = sorted({d for e in entries for d in _distributions_of(e)})
    where = ' and '.join(providers)

    def failed(cause: str, hint: str) -> Plugin:
        error = exceptions.PluginError(
            group, name, where or None, cause, hint=hint
        )
        return Plugin(group, name, where or None, error=error)

    if not entries:
        known = ', '.join(sorted({e.name for e in entry_points(group)}))
        return failed('not installed', f'Installed are: {known or "none"}')
    if len(entries) > 1 or len(providers) > 1:
        return failed(
            'ambiguous: several packages provide this name',
            'Uninstall all but one of them',
        )
    try:
        target = entries[0].load()
    except BaseException as exc:
        if foreign_errors.is_interrupt(exc):
            raise
        cause = f'cannot be loaded: {foreign_errors.described(exc)}'
        return failed(cause, 'Repair or uninstall that package')
    fault = _VALIDATORS[group](target)
    if fault:
        return failed(
            f'breaks the plugin contract: {fault}',
            'Install a release of that package made for this contract',
        )
    return Plugin(group, name, where, target=target)


@functools.cache
def entry_points(group: str) -> tuple[importlib.metadata.EntryPoint, ...]:
    """Return the entry points of a group, without loading any of them."""
    manager: stevedore.NamedExtensionManager[object] = (
        stevedore.NamedExtensionManager(group, names=[])
    )
    return tuple(manager.list_entry_points())


@functools.cache
def _distributions(group: str) -> dict[tuple[str, str], set[str]]:
    # stevedore drops the distribution of an entry point, and merges those of
    # two distributions if they name the same class.
    found: dict[tuple[str, str], set[str]] = {}
    for entry in importlib.metadata.entry_points(group=group):
        if entry.dist is not None:
            found.setdefault((entry.name, entry.value), set()).add(
                f'{entry.dist.name} {entry.dist.version}'
            )
    return found


def _distributions_of(entry: importlib.metadata.EntryPoint) -> set[str]:
    known = _distributions(entry.group).get((entry.name, entry.value))
    return known or {entry.value}


_VALIDATORS: dict[str, Callable[[object], str | None]] = {
    POLICIES: plugin_validation.policy_fault,
    BACKENDS: plugin_validation.backend_fault,
}
