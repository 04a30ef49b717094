"""A real Ironic with fake nodes, to develop a plugin against.

``tools/ironic`` runs it. It ends with Ctrl-C or SIGTERM and leaves nothing.
"""

from __future__ import annotations

import argparse
import pathlib
import signal
import sys
import tempfile
from collections.abc import Sequence

from lab import ironic, process
from lab.enrolment import Enrolment

_READY = """\
{count} nodes: a third in the shard a, a third in b, the others in none.
Ironic answers at {url}. In a configuration:

[ironic]
auth_type = none
endpoint_override = {url}

Ctrl-C ends it.
"""


def main(argv: Sequence[str]) -> int:
    """Run until a signal; return the exit code."""
    parser = argparse.ArgumentParser(
        prog='tools/ironic', description='Run a real Ironic with fake nodes.'
    )
    parser.add_argument(
        '--nodes', type=int, default=30, help='how many (default: 30)'
    )
    parser.add_argument(
        '--port', type=int, help='on 127.0.0.1 (default: a free one)'
    )
    args = parser.parse_args(argv)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with tempfile.TemporaryDirectory(prefix='ironic-') as directory:
        server = ironic.Ironic(pathlib.Path(directory), port=args.port)
        try:
            server.start()
            third = args.nodes // 3
            enrolment = Enrolment(server)
            for shard, count in (
                ('a', third),
                ('b', third),
                (None, args.nodes - 2 * third),
            ):
                if count:
                    enrolment.enrol(count, shard=shard)
            sys.stdout.write(
                _READY.format(count=args.nodes, url=server.endpoint)
            )
            sys.stdout.flush()
            signal.pause()
        except KeyboardInterrupt:
            return 0
        except process.LabError as exc:
            sys.stderr.write(f'{exc}\n')
            return 1
        finally:
            server.stop()
    return 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
