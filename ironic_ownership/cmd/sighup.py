"""SIGHUP: read the configuration files again, and apply what may change.

A file that is half written, or wrong, changes nothing at all.
"""

from __future__ import annotations

import pathlib
from collections.abc import Sequence

from oslo_config import cfg
from oslo_log import log

from ironic_ownership import settings
from ironic_ownership.clients.ironic import client
from ironic_ownership.clients.placement import options
from ironic_ownership.cmd import log_levels, restart_options
from ironic_ownership.conf import new
from ironic_ownership.contracts import exceptions
from ironic_ownership.engine.host.reload import Reload

LOG = log.getLogger(__name__)


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
        reload: Reload,
    ) -> None:
        self._files = files
        self._prog = prog
        self._conf = conf
        self._reload = reload
        self._levels = log_levels.read(conf)

    def reload(self) -> None:
        """Read the files; apply them, or keep everything and say why."""
        LOG.info('reading the configuration again')
        try:
            fresh = self._read()
            levels = log_levels.read(fresh)
            kept = self._keep_until_restart(fresh)
            chosen = _read_beside(fresh, kept)
        except (
            exceptions.OwnershipError,
            cfg.Error,
            ValueError,
            OSError,
        ) as exc:
            self._reload.refuse(' '.join(str(exc).split()))
            return
        log_levels.change(self._levels, levels)
        self._levels = levels
        for remark in chosen.remarks:
            LOG.warning('%s', remark)
        self._reload.request(chosen.tuning)

    def _read(self) -> cfg.ConfigOpts:
        """Read what a process that starts now would run on.

        :raises OwnershipError: if it could not, or if somebody seems to be
            writing these files at this moment.
        """
        fresh = new(self._files, self._prog)
        _refuse_unfinished(fresh)
        # As at the start, or their values would seem to have changed.
        client.register_opts(fresh)
        options.is_configured(fresh)
        settings.read(fresh)
        return fresh

    def _keep_until_restart(
        self, fresh: cfg.ConfigOpts
    ) -> Sequence[restart_options.Option]:
        kept = restart_options.needed_by(self._conf, fresh)
        restart_options.take_back(self._conf, fresh, kept)
        if kept:
            LOG.warning(
                'changed options that need a restart, and are not applied: %s',
                restart_options.text_of(kept),
            )
        return kept


def _refuse_unfinished(conf: cfg.ConfigOpts) -> None:
    """Refuse a file that was read while it was being written.

    Cut in the middle of a value it may well be valid: "rack-1", not
    "rack-12".

    :raises ConfigurationError: naming the files.
    """
    files = [*map(pathlib.Path, conf.config_file)]
    for directory in conf.config_dir:
        files += sorted(pathlib.Path(directory).glob('*.conf'))
    unfinished = [f for f in files if not f.read_bytes().endswith(b'\n')]
    if unfinished:
        raise exceptions.ConfigurationError(
            [f'{file} does not end with a line break' for file in unfinished],
            hint='It seems to be half written: finish it, and send SIGHUP',
        )


def _read_beside(
    conf: cfg.ConfigOpts, kept: Sequence[restart_options.Option]
) -> settings.Settings:
    """Read what can be applied now, beside the options kept as they were.

    :raises ConfigurationError: if the two do not fit together.
    """
    if restart_options.POLICIES in kept:
        raise exceptions.ConfigurationError(
            ['[ownership] policies has changed'],
            hint='That needs a restart, and so does what goes with it',
        )
    try:
        return settings.read(conf)
    except exceptions.ConfigurationError as exc:
        raise exceptions.ConfigurationError(
            exc.faults,
            hint='The new values do not go with those at the start of '
            f'{restart_options.text_of(kept)}, which need a restart',
        ) from exc
