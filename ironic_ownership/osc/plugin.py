"""What OpenStackClient asks of a plugin: its names, and its options.

Imported at every start of ``openstack``, whatever it is to do, so nothing is
imported here that a command needs only when it runs.
"""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ironic_ownership import wiring

API_NAME = 'baremetal_ownership'
API_VERSION_OPTION = 'os_baremetal_ownership_api_version'
API_VERSIONS = ('1',)
DEFAULT_API_VERSION = '1'

PROGRAM = 'openstack baremetal ownership'
"""What stands before a command."""

FILE_VARIABLE = 'IRONIC_OWNERSHIP_CONFIG_FILE'
DIRECTORY_VARIABLE = 'IRONIC_OWNERSHIP_CONFIG_DIR'
# Not OS_...: the client takes all of those for the description of a cloud.


def build_option_parser(
    parser: argparse.ArgumentParser,
) -> argparse.ArgumentParser:
    """Add the options that find the configuration of ironic-ownership."""
    parser.add_argument(
        '--ownership-config-file',
        action='append',
        metavar='FILE',
        help='configuration file of ironic-ownership; may be repeated, the '
        f'last value counts (Env: {FILE_VARIABLE}; default: '
        'ironic-ownership.conf in the usual places, such as '
        '/etc/ironic-ownership)',
    )
    parser.add_argument(
        '--ownership-config-dir',
        action='append',
        metavar='DIR',
        help='directory whose *.conf files are read after the files (Env: '
        f'{DIRECTORY_VARIABLE})',
    )
    return parser


def wire(options: argparse.Namespace) -> wiring.Wiring:
    """Return the objects behind the commands.

    :param options: of the client, as parsed.
    :raises cfg.Error: if the configuration can't be read.
    """
    from ironic_ownership import conf, wiring

    files = options.ownership_config_file or _named(FILE_VARIABLE)
    directories = options.ownership_config_dir or _named(DIRECTORY_VARIABLE)
    arguments = [
        *(f'--config-file={path}' for path in files),
        *(f'--config-dir={path}' for path in directories),
    ]
    return wiring.Wiring(conf.new(arguments, PROGRAM, logs=False))


def _named(variable: str) -> list[str]:
    value = os.environ.get(variable)
    return [value] if value else []
