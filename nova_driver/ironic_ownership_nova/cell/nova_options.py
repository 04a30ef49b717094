"""Options of a nova-compute, and the policies that follow from them.

Nova's own driver for Ironic enables a filter by its option alone. Nova is not
imported: an operator's command reads its configuration as well.
"""

from __future__ import annotations

import dataclasses
import pathlib
from collections.abc import Mapping

from oslo_config import cfg

from ironic_ownership.contracts import exceptions

_OPTIONS = (
    cfg.StrOpt('shard'),
    cfg.StrOpt('conductor_group', deprecated_name='partition_key'),
    cfg.ListOpt('peer_list', default=[]),
)
"""Of Nova's group ``[ironic]``, with Nova's names."""


@dataclasses.dataclass(frozen=True)
class NovaPolicies:
    """The value of ``[ownership] policies`` that does the same as Nova.

    :param uses_peer_list: whether ``[ironic] peer_list`` counts; otherwise
        the peers are all live services.
    """

    policies: tuple[str, ...]
    uses_peer_list: bool


def derive(shard: str | None, conductor_group: str | None) -> NovaPolicies:
    """Return the policies of a service with these options in ``[ironic]``.

    Nova uses the list of peers only with a conductor group and without a
    shard. With a shard each service is alone in its ring: that is what the
    policy ``shard_key`` does alone.

    :param shard: unset if empty, as in Nova.
    :param conductor_group: ``None`` if unset; empty is the default group.
    """
    configured = {
        'shard_key': bool(shard),
        'conductor_group': conductor_group is not None,
        'peer_list': not shard,
    }
    return NovaPolicies(
        tuple(name for name, is_set in configured.items() if is_set),
        uses_peer_list=conductor_group is not None and not shard,
    )


@dataclasses.dataclass(frozen=True)
class NovaConfiguration:
    """The options of a nova-compute, and the policies that do the same.

    :param driver: ``[DEFAULT] compute_driver``.
    :param peers: of ``[ironic] peer_list``, where it counts.
    :param settings: options of this package by group and name, as text.
    """

    path: str
    driver: str | None
    peers: tuple[str, ...]
    settings: Mapping[tuple[str, str], str]

    def summary(self) -> str:
        """Return one line: the file, and the settings that follow from it."""
        settings = ', '.join(
            f'[{group}] {name} = {value}'
            for (group, name), value in self.settings.items()
        )
        return (
            f'{self.path}: compute_driver = {self.driver}; '
            f'the same here: {settings}'
        )


def read(path: str) -> NovaConfiguration | None:
    """Return what a nova.conf says about the ownership of nodes.

    :returns: ``None`` if there is no such file: commands also run on machines
        without Nova.
    :raises ConfigurationError: if the file can't be read.
    """
    conf = cfg.ConfigOpts()
    conf.register_opt(cfg.StrOpt('compute_driver'))
    conf.register_opts(_OPTIONS, group='ironic')
    try:
        if not pathlib.Path(path).exists():
            return None
        conf([], project='nova', default_config_files=[path])
    except (cfg.Error, OSError, ValueError) as exc:
        text = ' '.join(str(exc).split())
        raise exceptions.ConfigurationError(
            [f'[nova] config_file: {text}'],
            hint='Name the nova.conf of a nova-compute, which this user may '
            'read',
        ) from exc
    options = conf.ironic
    derived = derive(options.shard, options.conductor_group)
    peers = tuple(options.peer_list) if derived.uses_peer_list else ()
    settings = {('ownership', 'policies'): ','.join(derived.policies)}
    if options.shard:
        settings['ironic', 'shard_key'] = options.shard
    if options.conductor_group is not None:
        settings['ironic', 'conductor_group'] = options.conductor_group
    if peers:
        settings['ironic', 'peer_list'] = ','.join(peers)
    return NovaConfiguration(path, conf.compute_driver, peers, settings)
