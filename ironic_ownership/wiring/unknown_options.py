"""Unknown names in the configuration files, each with the nearest known one.

oslo.config accepts any group and any name. A line that nothing reads is most
often a typing error, and its default is used in silence: a fault, if the name
is in a group of ours or close to a name of ours. Anything else is a remark,
because a file may serve another program too, such as nova.conf.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Iterator, Mapping
from importlib import metadata

from oslo_config import cfg

from ironic_ownership import conf as core_conf
from ironic_ownership import plugins
from ironic_ownership.clients import options, transport
from ironic_ownership.conf import core
from ironic_ownership.contracts import exceptions
from ironic_ownership.wiring.opts import of_plugins

_LIBRARY = 'oslo.log'
"""Namespace of options that every process has, in ``[DEFAULT]``."""

_FOREIGN = frozenset(
    (
        *('keystone_authtoken', 'oslo_policy', 'oslo_middleware'),
        'healthcheck',
        *('oslo_messaging_notifications', 'oslo_messaging_rabbit'),
        # Of nova.conf, and close to names of ours.
        *('api_database', 'ironic_ownership'),
    )
)
"""Groups of libraries and of Nova, whose options are not imported."""

_SHARED = frozenset(('DEFAULT', 'database', 'notifications'))
"""Groups of ours that nova.conf has as well, with other options."""

_CLOSE = 0.8
"""Similarity of a name to one of ours from which on it is a fault."""

_PLUGIN_GROUPS = {'policy_': plugins.POLICIES, 'backend_': plugins.BACKENDS}

_REMOVED = {
    ('policy_reservation', 'fallback'): (
        'every Ironic that is supported has allocations, which reserve the '
        'nodes. The policies "all", "conductor_group", "shard_key" and '
        '"peer_list" work without'
    )
}
"""Removed options, by group and name, with what replaces them."""

Known = Mapping[str, Collection[str]]
"""Names of options by group, in their canonical form."""

_Listed = Iterable[tuple[str | None, Iterable[cfg.Opt]]]


def remarks(conf: cfg.ConfigOpts) -> list[str]:
    """Return one sentence for each unknown name in the files of a process.

    :raises ConfigurationError: with those that seem to be meant for us; or if
        a file can't be read.
    """
    found = [*find(options.written(conf), known(conf), ours())]
    faults = [text for text, is_fault in found if is_fault]
    if faults:
        raise exceptions.ConfigurationError(
            faults, hint='Correct or remove that'
        )
    return [text for text, _ in found]


def ours() -> Known:
    """Return the options of this package, without those of libraries."""
    return _by_group(_of_package())


def known(conf: cfg.ConfigOpts) -> Known:
    """Return the options that this process may read from its files."""
    options.register_opts(conf)
    return _by_group(
        [
            *_of_package(),
            *of_plugins(plugins.is_loaded),
            *_of_library(),
            *_of_clients(conf),
        ]
    )


def _by_group(listed: _Listed) -> Known:
    found: dict[str, set[str]] = {'DEFAULT': set()}
    for group, opts in listed:
        for opt in opts:
            for its_group, name in _names(group or 'DEFAULT', opt):
                found.setdefault(_group(its_group), set()).add(_name(name))
    return found


def find(
    written: Mapping[str, Mapping[str, object]], known: Known, ours: Known
) -> Iterator[tuple[str, bool]]:
    """Yield a sentence for each unknown name, and whether it is a fault. Pure.

    :param written: the options in the files, by group.
    """
    strict = {
        group
        for group in ours
        if (group in core.OPTS and group not in _SHARED)
        or group in plugins.names(plugins.COMPANIONS)
        or group.startswith(tuple(_PLUGIN_GROUPS))
    }
    for group, names in written.items():
        place = _group(group)
        if place in _FOREIGN or _is_of_plugin(place, known):
            continue
        if place not in known:
            near = _nearest(place, {*known, *_FOREIGN})
            yield (
                f'[{group}] is not a group of options{near and f": {near}"}',
                bool(_nearest(place, ours, _CLOSE)),
            )
            continue
        for name in map(_name, names):
            if (place, name) in _REMOVED:
                why = _REMOVED[place, name]
                yield f'[{group}] {name} was removed: {why}', True
            elif name not in known[place]:
                what = f'[{group}] {name} is not an option, and has no effect'
                yield (
                    what + _suggestion(place, name, known),
                    place in strict
                    or bool(_nearest(name, ours.get(place, ()), _CLOSE)),
                )


def _suggestion(group: str, name: str, known: Known) -> str:
    elsewhere = [
        f'[{other}]' for other in sorted(known) if name in known[other]
    ]
    if elsewhere:
        return f': it belongs to {" or ".join(elsewhere)}'
    near = _nearest(name, known[group])
    return f': {near}' if near else ''


def _nearest(
    name: str, names: Collection[str], similarity: float = 0.6
) -> str:
    near = difflib.get_close_matches(name, sorted(names), 1, similarity)
    return f'did you mean {near[0]}?' if near else ''


def _is_of_plugin(group: str, known: Known) -> bool:
    """Tell whether a plugin that is not loaded may read a group."""
    return group not in known and any(
        group in {f'{prefix}{name}' for name in plugins.names(kind)}
        for prefix, kind in _PLUGIN_GROUPS.items()
    )


def _names(group: str, opt: cfg.Opt) -> Iterator[tuple[str, str]]:
    yield group, opt.dest
    yield group, opt.name
    for old in opt.deprecated_opts:
        yield old.group or group, old.name or opt.dest


def _of_package() -> Iterator[tuple[str, Iterable[cfg.Opt]]]:
    yield from core_conf.list_opts()
    yield from options.OPTS.items()
    yield from _of_companions()
    yield from of_plugins(plugins.is_own)  # others are not imported for this


def _of_companions() -> Iterator[tuple[str, Iterable[cfg.Opt]]]:
    modules = plugins.loaded_companions()
    for name in plugins.names(plugins.COMPANIONS):
        yield name, modules[name].OPTS if name in modules else ()


def _of_library() -> Iterator[tuple[str | None, Iterable[cfg.Opt]]]:
    for point in metadata.entry_points(
        group='oslo.config.opts', name=_LIBRARY
    ):
        yield from point.load()()


def _of_clients(
    conf: cfg.ConfigOpts,
) -> Iterator[tuple[str, Iterable[cfg.Opt]]]:
    for group in options.OPTS:
        section = conf[group].auth_section or group
        for its_group in (group, section):
            yield its_group, options.every_opt(group)
        for its_group, opt in transport.register_auth_opts(conf, group):
            yield its_group, [opt]


def _group(name: str) -> str:
    return name if name == 'DEFAULT' else name.lower()


def _name(name: str) -> str:
    return name.replace('-', '_')
