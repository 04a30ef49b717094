"""Discovery, loading and validation of plugins, including built-in ones.

The only importer of stevedore. stevedore logs a plugin that fails to load and
continues, and on a clash of names silently prefers one of them; here both are
faults that prevent the start.

A process loads the plugins that its configuration names, and those of this
package. One that is merely installed is not imported, neither for a member nor
for a client that names it, except by the tools that list everything. Each
import has a time limit, and no installed package can stop the search with its
metadata.
"""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import functools
import importlib.metadata
import logging
from collections.abc import Callable, Iterable, Iterator
from types import ModuleType
from typing import cast

import stevedore

from ironic_ownership.contracts import (
    backend,
    exceptions,
    plugin_validation,
    policy,
    texts,
)
from ironic_ownership.contracts.calls import (
    KeyedCalls,
    UnfinishedError,
    exit_refused,
    is_interrupt,
)

LOG = logging.getLogger(__name__)

POLICIES = 'ironic_ownership.policies'
BACKENDS = 'ironic_ownership.backends'
COMPANIONS = 'ironic_ownership.companions'

LOAD_LIMIT = 10.0
"""Seconds that the import of a plugin may take."""

Class = type[policy.Policy] | type[backend.MembershipBackend]

_OWN = f'{__name__.partition(".")[0]}.'
_REPAIR = 'Repair or uninstall that package'
_loaded: dict[tuple[str, str], Plugin] = {}
_imports: KeyedCalls[object] = KeyedCalls()

node_fields: set[str] = set()
"""The optional fields of nodes that loaded policies request. Also those of
policies that only other members selected: this process decides for them, too.
"""


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


def names(group: str) -> list[str]:
    """Return the names of the installed plugins of a group, in order."""
    return sorted({entry.name for entry in entry_points(group)})


@functools.cache
def is_own(group: str, name: str) -> bool:
    """Tell whether a plugin is one of this package."""
    entries = _entries(group, name)
    return bool(entries) and all(e.value.startswith(_OWN) for e in entries)


def installed(group: str) -> list[Plugin]:
    """Return every plugin of a group, loaded or with its error, by name.

    For tools only: this imports what the configuration does not name.
    """
    return [find(group, name) for name in names(group)]


def loaded(group: str) -> list[Plugin]:
    """Return the plugins that this process has loaded so far, by name."""
    # A copy made at once: other threads load plugins, too.
    found = dict(_loaded)
    return [found[key] for key in sorted(found) if key[0] == group]


def is_loaded(group: str, name: str) -> bool:
    """Tell whether this process has loaded a plugin already."""
    return (group, name) in _loaded


def policies(names: Iterable[str]) -> dict[str, type[policy.Policy]]:
    """Load the named policies.

    :raises ConfigurationError: listing the faults of all of them.
    """
    found = _load(POLICIES, names)
    return cast('dict[str, type[policy.Policy]]', found)


def backend_class(name: str) -> type[backend.MembershipBackend]:
    """Load the named membership backend.

    :raises ConfigurationError: if it can't be used, with the reason.
    """
    found = _load(BACKENDS, [name])[name]
    return cast('type[backend.MembershipBackend]', found)


def companions(names: Iterable[str]) -> dict[str, ModuleType]:
    """Load the named companions; see ``contracts.records``.

    :raises ConfigurationError: listing the faults of all of them.
    """
    return cast('dict[str, ModuleType]', _load(COMPANIONS, names))


def loaded_companions() -> dict[str, ModuleType]:
    """Return the companions that this process has loaded, by name."""
    return {p.name: cast('ModuleType', p.target) for p in loaded(COMPANIONS)}


@contextlib.contextmanager
def building(group: str, name: str) -> Iterator[None]:
    """Raise an error of the plugin for what it raises when it is built.

    :raises OwnershipError: naming the plugin, unless it raised one itself.
    """
    try:
        yield
    except exceptions.OwnershipError:
        raise
    except BaseException as exc:
        if is_interrupt(exc):
            raise
        cause = f'fails on its options: {texts.described(exc)}'
        raise broken(group, name, cause) from exc


def broken(
    group: str, name: str, cause: str, hint: str = _REPAIR
) -> exceptions.PluginError:
    """Return the error of a plugin; by default only its author can mend it."""
    where = distribution(group, name)
    whose = f'{group}: {name!r}{f" from {where}" if where else ""}'
    return exceptions.PluginError(whose, cause, hint=hint)


def origin(target: type[policy.Policy]) -> str:
    """Return the name of a policy, and its package, if it is loaded."""
    found = [p for p in loaded(POLICIES) if p.target is target]
    names = ' or '.join(repr(plugin.name) for plugin in found)
    return f'policy {names} from {found[0].distribution}' if found else ''


def named(group: str, name: str) -> str:
    """Return a name and its package, without loading any other plugin."""
    kind = {POLICIES: 'policy', BACKENDS: 'backend'}[group]
    return f'{kind} {name!r} from {distribution(group, name)}'


def distribution(group: str, name: str) -> str | None:
    """Return name and version of the package that provides a plugin."""
    return ' and '.join(_providers(group, name)) or None


def _load(group: str, wanted: Iterable[str]) -> dict[str, Class]:
    plugins = [find(group, name) for name in wanted]
    faults = [str(plugin.error) for plugin in plugins if plugin.error]
    if faults:
        raise exceptions.ConfigurationError(faults)
    return {p.name: p.target for p in plugins if p.target is not None}


def find(group: str, name: str) -> Plugin:
    """Return one plugin, loaded or with its error."""
    if (group, name) in _loaded:
        return _loaded[group, name]
    entries, where = _entries(group, name), distribution(group, name)

    def failed(cause: str, hint: str = _REPAIR) -> Plugin:
        error = broken(group, name, cause, hint)
        return Plugin(group, name, where, error=error)

    if not entries:
        known = ', '.join(names(group))
        return failed('not installed', f'Installed are: {known or "none"}')
    if len(entries) > 1 or len(_providers(group, name)) > 1:
        return failed(
            'ambiguous: several packages provide this name',
            'Uninstall all but one of them',
        )
    try:
        target = _import(entries[0])
    except UnfinishedError:
        return failed(f'its import has not ended after {LOAD_LIMIT:g} s')
    except BaseException as exc:
        if is_interrupt(exc):
            raise
        return failed(f'cannot be loaded: {texts.described(exc)}')
    if fault := _fault_of(entries[0], target):
        return failed(
            f'breaks the plugin contract: {fault}',
            'Install a release of that package made for this contract',
        )
    plugin = Plugin(group, name, where, target=cast('Class', target))
    if group == POLICIES:
        node_fields.update(cast('type[policy.Policy]', target).node_fields)
    _loaded[group, name] = plugin
    return plugin


def _fault_of(
    entry: importlib.metadata.EntryPoint, target: object
) -> str | None:
    # The unit tests validate our own, of which each command loads some.
    if entry.value.startswith(_OWN):
        return None
    try:
        return _VALIDATORS[entry.group](target)
    except Exception as exc:  # noqa: BLE001 - third-party code
        return texts.described(exc)


def _import(entry: importlib.metadata.EntryPoint) -> object:
    if entry.value.startswith(_OWN):
        return entry.load()
    key = entry.group, entry.name, entry.value
    with exit_refused():
        return _imports.result(key, entry.load, LOAD_LIMIT)


@functools.cache
def entry_points(group: str) -> tuple[importlib.metadata.EntryPoint, ...]:
    """Return the entry points of a group, without loading any of them."""
    try:
        return _listed(group)
    except Exception:  # noqa: BLE001 - metadata of any installed package
        _repair()
        return _listed(group)


def _listed(group: str) -> tuple[importlib.metadata.EntryPoint, ...]:
    manager: stevedore.NamedExtensionManager[object] = (
        stevedore.NamedExtensionManager(group, names=[])
    )
    return tuple(manager.list_entry_points())


def _repair() -> None:
    """Let stevedore know the entry points of all packages but broken ones.

    One invalid file of any installed package stops its search for all of
    them, those of keystoneauth among them.
    """
    found = _AllGroups(list)
    for entry, _ in _readable():
        known = found[entry.group]
        if all((e.name, e.value) != (entry.name, entry.value) for e in known):
            known.append(
                importlib.metadata.EntryPoint(
                    entry.name, entry.value, entry.group
                )
            )
    stevedore.ExtensionManager.ENTRY_POINT_CACHE = found


class _AllGroups(
    collections.defaultdict[str, list[importlib.metadata.EntryPoint]]
):
    """Entry points of all groups: a group that is missing has none.

    cliff, for one, searches a group of hooks for each command.
    """

    def __contains__(self, group: object) -> bool:
        return True


def _readable(
    group: str | None = None,
) -> Iterator[
    tuple[importlib.metadata.EntryPoint, importlib.metadata.Distribution]
]:
    """Yield the entry points of a group, or all, and who provides each."""
    seen = set()
    for dist in importlib.metadata.distributions():
        try:
            entries = [
                e for e in dist.entry_points if group in (None, e.group)
            ]
        except Exception as exc:  # noqa: BLE001 - of any installed package
            place = getattr(dist, '_path', 'unknown place')
            _warn(f'{place}: {texts.described(exc)}')
            continue
        # The name is in another file, which costs a command 0.1 s in all.
        if not entries:
            continue
        # The first of a name on the path is the one that Python imports.
        name = _name_of(dist).partition(' ')[0].lower()
        if name in seen:
            continue
        seen.add(name)
        for entry in entries:
            yield entry, dist


@functools.cache
def _warn(fault: str) -> None:
    """Log a fault once: each group is searched on its own."""
    LOG.warning(
        'Entry points of an installed package cannot be read: %s', fault
    )


@functools.cache
def _distributions(group: str) -> dict[tuple[str, str], set[str]]:
    # stevedore drops the distribution of an entry point, and merges those of
    # two distributions if they name the same class.
    found: dict[tuple[str, str], set[str]] = {}
    for entry, dist in _readable(group):
        found.setdefault((entry.name, entry.value), set()).add(_name_of(dist))
    return found


def _name_of(dist: importlib.metadata.Distribution) -> str:
    name = version = ''
    with contextlib.suppress(Exception):  # of any installed package
        name, version = dist.name, dist.version
    if not name or not version:
        return f'{getattr(dist, "_path", "unknown")} without name or version'
    return f'{name} {version}'


def _entries(group: str, name: str) -> list[importlib.metadata.EntryPoint]:
    return [entry for entry in entry_points(group) if entry.name == name]


def _providers(group: str, name: str) -> list[str]:
    known = _distributions(group)
    values = [entry.value for entry in _entries(group, name)]
    return sorted({d for v in values for d in known.get((name, v)) or {v}})


_VALIDATORS: dict[str, Callable[[object], str | None]] = {
    POLICIES: plugin_validation.policy_fault,
    BACKENDS: plugin_validation.backend_fault,
    COMPANIONS: lambda module: (
        None
        if hasattr(module, 'OPTS') and hasattr(module, 'open_companion')
        else 'it has no OPTS or no open_companion'
    ),
}
