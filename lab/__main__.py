"""A real Ironic with fake nodes, to develop a plugin against.

``tools/ironic`` runs it. It ends with SIGINT or SIGTERM and leaves nothing.
"""

from __future__ import annotations

import argparse
import itertools
import os
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

Ctrl-C or "kill {pid}" ends it.
"""

Attribute = tuple[str, tuple[str, ...]]
"""The name of an attribute, and its values, which nodes get in turn."""


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
    for option, field in (('--property', 'properties'), ('--extra', 'extra')):
        parser.add_argument(
            option,
            dest=field,
            type=_attribute,
            action='append',
            default=[],
            metavar='NAME=VALUE[,VALUE...]',
            help=f'what each node has in its {field}: one of these values, '
            'in turn; may be repeated',
        )
    args = parser.parse_args(argv)
    # In the background of a script SIGINT is ignored, unless it is handled.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    with tempfile.TemporaryDirectory(prefix='ironic-') as directory:
        server = ironic.Ironic(pathlib.Path(directory), port=args.port)
        try:
            _report('starting Ironic; the first time it is installed before')
            server.start()
            _report('adding nodes')
            third = args.nodes // 3
            enrolment = Enrolment(server)
            for shard, count in (
                ('a', third),
                ('b', third),
                (None, args.nodes - 2 * third),
            ):
                if count:
                    uuids = enrolment.enrol(count, shard=shard)
                    for field in ('properties', 'extra'):
                        _set(enrolment, uuids, field, getattr(args, field))
            sys.stdout.write(
                _READY.format(
                    count=args.nodes, url=server.endpoint, pid=os.getpid()
                )
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


def _report(step: str) -> None:
    sys.stderr.write(f'tools/ironic: {step}\n')
    sys.stderr.flush()


def _attribute(words: str) -> Attribute:
    """Read ``NAME=VALUE[,VALUE...]``.

    :raises ArgumentTypeError: if it is something else.
    """
    name, equals, values = words.partition('=')
    if not name or not equals:
        raise argparse.ArgumentTypeError(f'{words!r} is not NAME=VALUE')
    return name, tuple(values.split(','))


def _set(
    enrolment: Enrolment,
    uuids: Sequence[str],
    field: str,
    attributes: Sequence[Attribute],
) -> None:
    for name, values in attributes:
        for uuid, value in zip(uuids, itertools.cycle(values), strict=False):
            enrolment.set_attribute(uuid, field, name, value)


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
