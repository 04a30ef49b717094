"""SIGHUP: read the configuration files again, and apply what may change.

A file that is unfinished or invalid changes nothing.
"""

from __future__ import annotations

import pathlib
from collections.abc import Iterable, Sequence
from typing import Any

from oslo_config import cfg
from oslo_log import log

from ironic_ownership import plugins, program, settings
from ironic_ownership.clients import options
from ironic_ownership.conf import configuration, core, log_format
from ironic_ownership.conf.configuration import new
from ironic_ownership.contracts import exceptions, texts
from ironic_ownership.engine.host.reload import Reload
from ironic_ownership.engine.host.tuning import Tuning
from ironic_ownership.wiring import unknown_options

LOG = log.getLogger(__name__)

Option = tuple[str, str]
"""Group and name."""

RELOADABLE = frozenset(
    {
        # They are oslo.log's.
        ('DEFAULT', 'debug'),
        ('DEFAULT', 'default_log_levels'),
        *(
            (group, option.dest)
            for group, options in core.OPTS.items()
            for option in options
            if option.mutable
        ),
    }
)
"""Options that need no restart, in addition to those of policies."""


class Reloading:
    """The configuration files of a running host.

    Threading: the main thread only.

    :param files: the arguments that name them.
    :param conf: the configuration of the start.
    """

    def __init__(
        self, files: Sequence[str], conf: cfg.ConfigOpts, reload: Reload
    ) -> None:
        self._files = files
        self._conf = conf
        self._reload = reload
        self._levels = log_format.read_levels(conf)

    def reload(self) -> None:
        """Read the files, and apply them or log why not."""
        LOG.info('reading the configuration again')
        try:
            fresh = self._read()
            kept = self._keep_until_restart(fresh)
            levels = log_format.read_levels(fresh)
            chosen = _read_with_kept(fresh, kept)
            self._check_policies(fresh, chosen.tuning)
            unknown = unknown_options.remarks(fresh)
        except (
            exceptions.OwnershipError,
            cfg.Error,
            ValueError,
            OSError,
        ) as exc:
            self._reload.refuse(texts.text_of(exc))
            return
        # The process goes on with the old configuration, regardless of the
        # error: nothing but a plugin can ask for an exit here.
        except BaseException as exc:
            LOG.exception('the configuration cannot be read')
            self._reload.refuse(texts.described(exc))
            return
        log_format.change_levels(self._levels, levels)
        if levels != self._levels:
            LOG.info('log levels changed')
        self._levels = levels
        for remark in (*chosen.remarks, *unknown):
            LOG.warning('%s', remark)
        self._reload.request(chosen.tuning)

    def _read(self) -> cfg.ConfigOpts:
        """Read the configuration as a starting process does.

        :raises OwnershipError: if it can't be used, or a file seems to be
            unfinished.
        """
        fresh = new(self._files, program.HOST)
        _refuse_unfinished(fresh)
        # As at the start, or their values would seem to have changed.
        options.register_opts(fresh)
        options.is_configured(fresh)
        settings.read(fresh)
        return fresh

    def _keep_until_restart(self, fresh: cfg.ConfigOpts) -> Iterable[Option]:
        kept = needing_restart(self._conf, fresh)
        for (group, name), value in kept.items():
            target = None if group == 'DEFAULT' else group
            # Not the begin of the name of an option.
            is_text = isinstance(value, str)
            literal = value.replace('$', '$$') if is_text else value
            fresh.set_override(name, literal, target)
        if kept:
            LOG.warning(
                'changed options that need a restart, and are not applied: %s',
                _text_of(kept),
            )
        return kept

    def _check_policies(self, fresh: cfg.ConfigOpts, wanted: Tuning) -> None:
        """Refuse other policies that this process can't change to safely.

        :raises ConfigurationError: if they have sources, whose reader starts
            with the process; or if derived ones are only fewer, as in a file
            that was cut between two lines: that would widen the scope.
        """
        before, after = self._reload.current, wanted
        old, new = before.names, after.names
        if before.with_sources != after.with_sources:
            names = ', '.join(before.with_sources ^ after.with_sources)
            raise exceptions.ConfigurationError(
                [f'the policy {names} reads a source'],
                hint='To select it, or no longer, restart this process',
            )
        lost = old - new
        if fresh.ownership.policies is None and lost and new - old <= {'all'}:
            raise exceptions.ConfigurationError(
                [
                    f'the policy {name} has no option any more'
                    for name in sorted(lost)
                ],
                hint='If that is meant, name the others in [ownership] '
                f'policies = {", ".join(sorted(new))}',
            )


def _refuse_unfinished(conf: cfg.ConfigOpts) -> None:
    """Refuse a file that is still being written.

    Cut within a value it may be valid: "rack-1" instead of "rack-12".

    :raises ConfigurationError: naming the files.
    """
    files = [*map(pathlib.Path, conf.config_file)]
    for directory in conf.config_dir:
        files += sorted(pathlib.Path(directory).glob('*.conf'))
    unfinished = [f for f in files if not f.read_bytes().endswith(b'\n')]
    if unfinished:
        raise exceptions.ConfigurationError(
            [f'{file} does not end with a line break' for file in unfinished],
            hint='It seems to be unfinished: complete it, and send SIGHUP',
        )


def _read_with_kept(
    conf: cfg.ConfigOpts, kept: Iterable[Option]
) -> settings.Settings:
    """Read the new values together with the options that are kept.

    :raises ConfigurationError: if they do not fit together.
    """
    try:
        return settings.read(conf)
    except exceptions.ConfigurationError as exc:
        raise exceptions.ConfigurationError(
            exc.faults,
            hint='The new values do not go with those at the start of '
            f'{_text_of(kept)}, which need a restart',
        ) from exc


def needing_restart(
    before: cfg.ConfigOpts, after: cfg.ConfigOpts
) -> dict[Option, Any]:
    """Return the options that have changed, and their values of the start.

    :raises ValueError: if a new value is none of its option's type.
    """
    of_policies = {
        (
            configuration.group_of(plugin.name, plugin.target, option),
            option.name,
        )
        for plugin in plugins.loaded(plugins.POLICIES)
        if plugin.target is not None
        for option in plugin.target.options
    }
    old, new_values = _values(before), _values(after)
    return {
        option: old[option]
        for option in sorted(old.keys() & new_values.keys())
        if option not in RELOADABLE | of_policies
        and old[option] != new_values[option]
    }


def _values(conf: cfg.ConfigOpts) -> dict[Option, Any]:
    """Return the values of all options that are registered."""
    kind = cfg.ConfigOpts.GroupAttr
    groups = {
        name: conf[name] for name in conf if isinstance(conf[name], kind)
    }
    return {
        (group, name): value
        for group, options_of in {'DEFAULT': conf, **groups}.items()
        for name, value in options_of.items()
        if not isinstance(value, kind)
    }


def _text_of(options: Iterable[Option]) -> str:
    """Return the options as operators write them."""
    return ', '.join(f'[{group}] {name}' for group, name in options)
