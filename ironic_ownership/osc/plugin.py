"""The plugin of OpenStackClient: its names, and its options.

Imported at every start of ``openstack``, so nothing is imported here that a
command needs only when it runs.
"""

from __future__ import annotations

import argparse
import os

API_NAME = 'baremetal_ownership'
API_VERSION_OPTION = 'os_baremetal_ownership_api_version'
API_VERSIONS = ('1',)
DEFAULT_API_VERSION = '1'

PROGRAM = 'openstack baremetal ownership'
"""The words before a command."""

FILE_VARIABLE = 'IRONIC_OWNERSHIP_CONFIG_FILE'
DIRECTORY_VARIABLE = 'IRONIC_OWNERSHIP_CONFIG_DIR'
API_VARIABLE = 'IRONIC_OWNERSHIP_API'
DATABASE, HTTP = 'database', 'http'
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
        f'last value wins (Env: {FILE_VARIABLE}; default: '
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
    parser.add_argument(
        '--ownership-api',
        choices=(DATABASE, HTTP),
        help='whether the commands use the database of this configuration, '
        'or the HTTP service of the cloud with its credentials (Env: '
        f'{API_VARIABLE}; default: {DATABASE} if there is a configuration '
        f'file, else {HTTP})',
    )
    parser.add_argument(
        '--ownership-timeout',
        type=_seconds,
        metavar='SECONDS',
        help='the time that a command of ironic-ownership may take; then it '
        'ends with exit code 4, and names the servers that have not answered',
    )
    return parser


def _seconds(text: str) -> float:
    from ironic_ownership.cli import deadline

    return deadline.seconds(text)


def uses_http(options: argparse.Namespace) -> bool:
    """Tell whether the commands use the HTTP service.

    :param options: of the client, as parsed.
    :raises OwnershipError: if the variable has another value.
    """
    chosen = options.ownership_api or os.environ.get(API_VARIABLE)
    if chosen and chosen not in (DATABASE, HTTP):
        from ironic_ownership.contracts import exceptions

        raise exceptions.OwnershipError(
            f'{API_VARIABLE} is {chosen!r}',
            hint=f'It can be {DATABASE} or {HTTP}',
        )
    if chosen:
        return chosen == HTTP
    if arguments(options):
        return False
    from oslo_config import cfg

    from ironic_ownership.conf.configuration import PROJECT

    places = PROJECT, PROJECT
    found = cfg.find_config_files(*places) or cfg.find_config_dirs(*places)
    return not found


def arguments(options: argparse.Namespace) -> list[str]:
    """Return the configuration that is named, as oslo.config reads it."""
    from ironic_ownership import program

    return program.arguments(
        options.ownership_config_file or _named(FILE_VARIABLE),
        options.ownership_config_dir or _named(DIRECTORY_VARIABLE),
    )


def _named(variable: str) -> list[str]:
    value = os.environ.get(variable)
    return [value] if value else []
