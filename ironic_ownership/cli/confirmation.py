"""What the commands that change something have in common.

Each of them can be tried with ``--dry-run``, asks before it acts, tells who
acts, and has a request id by which its traces are found again.
"""

from __future__ import annotations

import argparse
import getpass
import logging
import os
import socket
import sys

from ironic_ownership.cli import errors
from ironic_ownership.contracts import exceptions

LOG = logging.getLogger(__name__)

_YES = ('y', 'yes')


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add ``--dry-run`` and ``--yes``."""
    parser.add_argument(
        '--dry-run',
        action='store_true',
        help='show what would be done and whether it would be refused, and '
        'change nothing',
    )
    parser.add_argument(
        *('-y', '--yes'),
        action='store_true',
        help='do not ask; needed where nobody can be asked',
    )


def actor() -> str:
    """Return who runs this program: user and machine."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):  # no such user on this machine
        user = f'uid{os.getuid()}'
    return f'{user}@{socket.gethostname()}'[:255]


def confirm(args: argparse.Namespace, question: str) -> None:
    """Ask the operator, unless the options have answered already.

    :param question: what is about to be done, without a question mark.
    :raises UsageError: if nobody can be asked.
    :raises OwnershipError: if the answer is no.
    """
    if args.yes:
        return
    if not sys.stdin.isatty():
        raise errors.UsageError(
            'standard input is no terminal, so nobody can be asked: '
            'nothing was changed',
            hint='Say --yes, or see with --dry-run what would be done',
        )
    sys.stderr.write(f'{question}? [y/N] ')
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() not in _YES:
        raise exceptions.OwnershipError('not confirmed: nothing was changed')


def announce(request_id: str, what: str) -> None:
    """Log what is done, by whom and under which request id."""
    LOG.info('%s: %s, asked for by %s', request_id, what, actor())
