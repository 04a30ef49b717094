"""``ironic-ownership-host``: the process that owns nodes.

Nothing but the standard library is imported before signals are held back:
SIGHUP ends a process without a handler, and an operator who changes a
configuration may send it while the service starts.
"""

from __future__ import annotations

import signal
from collections.abc import Sequence

from ironic_ownership import program


def main(argv: Sequence[str] | None = None) -> int:
    """Run the host process until a signal stops it.

    :param argv: arguments; those of the process by default.
    :returns: 0 after a clean stop, 1 if it can't start or go on. Wrong
        usage exits with 2.
    """
    # An early one is handled as soon as the host serves.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGHUP})
    files = _parse(argv)
    from ironic_ownership.cmd import host_main

    return host_main.run(files)


def _parse(argv: Sequence[str] | None) -> list[str]:
    parser = program.parser(
        program.HOST,
        description='Join the membership, own the nodes that the configured '
        'policies give to this service, and keep the records true, until '
        'SIGTERM. SIGHUP reads the configuration again.',
        epilog='Without options, ironic-ownership.conf is looked for in the '
        'usual places, such as /etc/ironic-ownership.',
    )
    return program.chosen(parser.parse_args(argv))
