"""SIGHUP: read the configuration files again, and apply what may change.

A file that is half written, or wrong, changes nothing at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from oslo_config import cfg
from oslo_log import log

from ironic_ownership import conf as conf_
from ironic_ownership import plugins, settings, wiring
from ironic_ownership.clients import ironic
from ironic_ownership.contracts import exceptions
from ironic_ownership.engine import reload

LOG = log.getLogger(__name__)

RELOADABLE = frozenset(
    {
        ('DEFAULT', 'debug'),
        ('DEFAULT', 'default_log_levels'),
        ('membership', 'heartbeat_interval'),
        ('ownership', 'refresh_interval'),
        ('ownership', 'recheck_interval'),
        ('ownership', 'mass_loss_share'),
        ('ownership', 'mass_loss_minimum'),
    }
)
"""Groups and options that need no restart, besides those of policies."""


class Reloading:
    """The configuration files of a running host.

    Threading: the main thread only.

    :param files: the arguments that name them.
    :param conf: what they said at the start.
    """

    def __init__(
        self,
        files: Sequence[str],
        prog: str,
        conf: cfg.ConfigOpts,
        reload_: reload.Reload,
    ) -> None:
        self._files = files
        self._prog = prog
        self._conf = conf
        self._reload = reload_

    def reload(self) -> None:
        """Read the files; apply them, or keep everything and say why."""
        LOG.info('reading the configuration again')
        try:
            fresh = conf_.new(self._files, self._prog)
            ironic.register_opts(fresh)
            chosen = settings.read(fresh)
            restart = _needing_restart(self._conf, fresh)
        except (exceptions.OwnershipError, cfg.Error, ValueError) as exc:
            self._reload.refuse(' '.join(str(exc).split()))
            return
        if restart:
            LOG.warning(
                'changed options that need a restart, and are not applied: %s',
                ', '.join(restart),
            )
        if '[ownership] policies' in restart:
            self._reload.refuse(
                '[ownership] policies needs a restart, and so does what goes '
                'with it'
            )
            return
        log.setup(fresh, self._prog)
        self._reload.request(wiring.tuning_of(chosen))


def _needing_restart(
    before: cfg.ConfigOpts, after: cfg.ConfigOpts
) -> list[str]:
    """Return the options that have changed and can't be applied now."""
    of_policies = {
        (settings.group_of(plugin.name, plugin.target, option), option.name)
        for plugin in plugins.installed(plugins.POLICIES)
        if plugin.target is not None
        for option in plugin.target.options
    }
    names = {
        (group, opt.dest) for group, opts in wiring.list_opts() for opt in opts
    }
    return [
        f'[{group}] {name}'
        for group, name in sorted(names - RELOADABLE - of_policies)
        if _value(before, group, name) != _value(after, group, name)
    ]


def _value(conf: cfg.ConfigOpts, group: str, name: str) -> Any:
    try:
        return (conf if group == 'DEFAULT' else conf[group])[name]
    except cfg.Error:
        return None
