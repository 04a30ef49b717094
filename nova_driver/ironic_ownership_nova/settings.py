"""Settings of the embedded host, from the files of nova-compute and its own.

The files of Nova come first, so that [ironic] and [placement] need no second
copy: address, credentials, shard, conductor group and peers.
"""

from __future__ import annotations

import dataclasses
import pathlib
import threading
from collections.abc import Mapping, Sequence
from typing import Any

from nova import exception
from oslo_config import cfg
from oslo_log import log

from ironic_ownership_nova import options
from ironic_ownership_nova.cell import nova_options

LOG = log.getLogger(__name__)

_OWN = {
    'database': cfg.StrOpt('connection'),
    'nova': cfg.StrOpt('cell_schema'),
    'ownership': cfg.StrOpt('policies'),
}


@dataclasses.dataclass(frozen=True)
class Settings:
    """Settings with which the embedded host starts.

    :ivar follows_records: the rows of the cell change with the records, in
        one transaction; otherwise Nova itself moves the rows of free nodes.
    """

    files: Sequence[str]
    directories: Sequence[str]
    overrides: Mapping[tuple[str, str], Any]
    follows_records: bool


def read(conf: cfg.ConfigOpts) -> Settings:
    """Read the settings.

    :param conf: of Nova, with the options of the driver.
    :raises InvalidConfiguration: if a file is missing, or does not say where
        the records are; or if a thread cannot wait as long as it says.
    """
    for name in ('guard_patience', 'conductor_check_interval'):
        seconds = conf[options.GROUP][name]
        # No thread can wait that long, and nan is no bound at all.
        if not seconds <= threading.TIMEOUT_MAX:
            raise exception.InvalidConfiguration(
                f'[{options.GROUP}] {name} = {seconds} is not a number, or '
                'too large'
            )
    own = options.config_files(conf)
    found = _read_own(own)
    if not found['database']:
        raise exception.InvalidConfiguration(
            'the records of ironic-ownership are not configured: set '
            f'[database] connection in {" or ".join(own) or "a file"}, which '
            f'is named by [{options.GROUP}] config_file'
        )
    return Settings(
        files=(*conf.config_file, *own),
        directories=tuple(conf.config_dir),
        overrides={
            # Nova's own spelling, which its cell has as well.
            ('DEFAULT', 'host'): conf.host,
            # Nova reports inventories itself.
            ('placement', 'report_inventory'): False,
            **({} if found['ownership'] else _policies(conf)),
        },
        follows_records=bool(found['nova']),
    )


def _policies(conf: cfg.ConfigOpts) -> dict[tuple[str, str], Any]:
    """Return the policies that do what Nova did with the same options."""
    found = nova_options.derive(conf.ironic.shard, conf.ironic.conductor_group)
    LOG.info('policies, as [ironic] says: %s', ', '.join(found.policies))
    values: dict[tuple[str, str], Any] = {
        ('ownership', 'policies'): list(found.policies)
    }
    if not found.uses_peer_list:
        values['ironic', 'peer_list'] = []
    return values


def _read_own(files: Sequence[str]) -> dict[str, str | None]:
    absent = [path for path in files if not pathlib.Path(path).is_file()]
    if absent:
        raise exception.InvalidConfiguration(
            f'no such file of ironic-ownership: {", ".join(absent)}'
        )
    conf = cfg.ConfigOpts()
    for group, option in _OWN.items():
        conf.register_opt(option, group)
    try:
        conf(
            [f'--config-file={path}' for path in files],
            project='ironic-ownership',
            default_config_files=[],
            default_config_dirs=[],
        )
        return {group: conf[group][opt.name] for group, opt in _OWN.items()}
    except (cfg.NoSuchOptError, cfg.NoSuchGroupError):
        # Its text may be a part of a password.
        raise exception.InvalidConfiguration(
            f'{", ".join(files)}: a $ is written $$'
        ) from None
    except cfg.Error as exc:
        raise exception.InvalidConfiguration(str(exc)) from exc
