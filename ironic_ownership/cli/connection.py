"""Choice of the client: the database, or the HTTP service by ``--os-*``.

A terminal gets the progress of a long read of Ironic.
"""

from __future__ import annotations

import argparse
import getpass
import os
import socket
import time
from collections.abc import Callable
from typing import Any, TextIO

from ironic_ownership import wiring
from ironic_ownership.api.operation_client import (
    LocalClient,
    OperationClient,
    RemoteClient,
)
from ironic_ownership.cli import errors
from ironic_ownership.contracts.events import new_request_id


def is_remote(argv: list[str]) -> bool:
    """Tell whether an option of the HTTP service is on the command line."""
    return any(word.replace('_', '-').startswith('--os-') for word in argv)


def add_arguments(parser: argparse.ArgumentParser, argv: list[str]) -> None:
    """Add the options of the HTTP service.

    Without one of them on the command line only two are added, for the help:
    importing the libraries behind them takes longer than most commands.
    """
    if is_remote(argv):
        from ironic_ownership.clients import ownership

        ownership.add_arguments(parser, argv)
        return
    parser.add_argument(
        '--os-cloud',
        metavar='NAME',
        help='use the HTTP service of this cloud in clouds.yaml instead of '
        'the database, with any --os-... option of openstacksdk',
    )
    parser.add_argument(
        '--os-endpoint-override',
        metavar='URL',
        help='use the HTTP service at this URL; without Keystone, nothing '
        'else is needed',
    )


def local(wired: wiring.Wiring) -> OperationClient:
    """Return the client over the configuration and the database."""
    wired.request_id = new_request_id()
    return LocalClient(wired, actor(), wired.request_id)


def remote(options: argparse.Namespace) -> OperationClient:
    """Return the client at the HTTP service.

    :raises OwnershipError: if the options do not lead to it.
    """
    from ironic_ownership.clients import ownership

    return RemoteClient(ownership.connect(options, new_request_id()))


def over_session(manager: Any) -> OperationClient:
    """Return the client at the HTTP service in a session of OpenStackClient.

    :param manager: the client manager, authenticated.
    """
    from ironic_ownership.clients import ownership

    config = manager.get_configuration()
    return RemoteClient(
        ownership.OwnershipClient(
            manager.session,
            new_request_id(),
            interface=manager.interface,
            region_name=manager.region_name,
            endpoint_override=config.get(ownership.OVERRIDE)
            or config.get('endpoint_override'),
        )
    )


def actor() -> str:
    """Return the user and the machine of this process."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):  # no such user on this machine
        user = f'uid{os.getuid()}'
    return f'{user}@{socket.gethostname()}'[:255]


INTERVAL = 2.0
"""Seconds before the first line, and between two lines."""


def reading_progress(stream: TextIO) -> Callable[[int], object]:
    """Return what reports the number of nodes that were read so far.

    :param stream: standard error. Nothing is written unless it is a terminal:
        scripts compare it, and a short list needs no progress.
    """
    if not stream.isatty():
        return int
    reported_at = time.monotonic()

    def report(nodes: int) -> None:
        nonlocal reported_at
        now = time.monotonic()
        if now - reported_at >= INTERVAL:
            reported_at = now
            stream.write(f'{errors.PROG}: {nodes} nodes read from Ironic\n')
            stream.flush()

    return report
