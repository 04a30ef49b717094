"""Options: the servers of ZooKeeper, the path and the credentials."""

from __future__ import annotations

import re

from ironic_ownership import contracts

OPTIONS = (
    contracts.Option(
        'servers',
        contracts.OptionType.LIST,
        'Servers of the ZooKeeper ensemble, as host:port. Every host has '
        'to use the same ensemble.',
        required=True,
    ),
    contracts.Option(
        'path',
        contracts.OptionType.STRING,
        'Node of ZooKeeper above the members; it is created if it is '
        'missing. Every host has to use the same one.',
        default='/ironic-ownership',
        regex=r'(/[A-Za-z0-9_.-]*[A-Za-z0-9_-])+',
    ),
    contracts.Option(
        'username',
        contracts.OptionType.STRING,
        'User of the scheme "digest"; needs password. With it, only this '
        'user can read and write the nodes. Unset: any client can.',
        regex='[^:]+',
    ),
    contracts.Option(
        'password',
        contracts.OptionType.STRING,
        'Password of username.',
        secret=True,
    ),
)

_SERVER = re.compile(r'[^\s:/,]+:\d{1,5}|\[[0-9a-fA-F:.]+\]:\d{1,5}')


def servers(configured: contracts.Value) -> str:
    """Return the servers in the form that kazoo expects."""
    found = configured if isinstance(configured, tuple) else ()
    wrong = [s for s in found if not _SERVER.fullmatch(s)]
    if wrong or not found:
        named = ', '.join(wrong) or 'none'
        raise contracts.MembershipError(
            f'[backend_kazoo_membership] servers: {named}',
            hint='Name them as host:port, separated by commas',
        )
    return ','.join(found)


def credentials(
    username: contracts.Value, password: contracts.Value
) -> tuple[str, str] | None:
    """Return user and password, or ``None``."""
    if (username is None) != (password is None):
        raise contracts.MembershipError(
            '[backend_kazoo_membership] username and password need each other',
            hint='Set both, or none',
        )
    return None if username is None else (str(username), str(password))
