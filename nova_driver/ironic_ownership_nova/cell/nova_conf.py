"""Reader of the configuration of a nova-compute, without importing Nova."""

from __future__ import annotations

import dataclasses
import pathlib
from collections.abc import Mapping

from oslo_config import cfg

from ironic_ownership.contracts import exceptions
from ironic_ownership_nova import nova_options

_OPTIONS = (
    cfg.StrOpt('shard'),
    cfg.StrOpt('conductor_group'),
    cfg.ListOpt('peer_list', default=[]),
)
"""Of Nova's group ``[ironic]``, with Nova's names."""


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
    return _converted(path, conf)


def _converted(path: str, conf: cfg.ConfigOpts) -> NovaConfiguration:
    options = conf.ironic
    derived = nova_options.derive(options.shard, options.conductor_group)
    peers = tuple(options.peer_list) if derived.uses_peer_list else ()
    settings = {('ownership', 'policies'): ','.join(derived.policies)}
    if options.shard:
        settings['ironic', 'shard_key'] = options.shard
    if options.conductor_group is not None:
        settings['ironic', 'conductor_group'] = options.conductor_group
    if peers:
        settings['ironic', 'peer_list'] = ','.join(peers)
    return NovaConfiguration(path, conf.compute_driver, peers, settings)
