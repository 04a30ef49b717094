"""Command line: run the demonstration, keep it, end it, verify the README."""

from __future__ import annotations

import argparse
import pathlib
import re
import shutil
import sys

from lab import process, venvs
from lab.quickstart import demonstration, left_running

_SECONDS = re.compile(r'\b\d+(\.\d)? s\b')


def main() -> int:
    """Run the program.

    :returns: 0, or 1 after a failure.
    """
    args = _parser().parse_args()
    directory = venvs.cache() / 'quickstart'
    running = left_running.LeftRunning(directory)
    if args.stop:
        print(f'Ended {running.stop()} processes.')
        return 0
    if running.pids():
        print(
            'The last quickstart still runs: ./tools/quickstart --stop',
            file=sys.stderr,
        )
        return 1
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    demo = demonstration.Demonstration(directory)
    try:
        demo.run()
        if args.console:
            demo.start_console()
        if args.keep or args.console:
            running.remember(demo.pids())
    except process.LabError as exc:
        print(f'quickstart: {exc}', file=sys.stderr)
        return 1
    finally:
        if not running.pids():
            demo.stop()
    return _verify(args.verify, demo) if args.verify else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog='tools/quickstart',
        description='A real Ironic with 300 nodes, three services that share '
        'them, one of them killed.',
    )
    modes = parser.add_mutually_exclusive_group()
    modes.add_argument(
        '--keep', action='store_true', help='leave all processes running'
    )
    modes.add_argument(
        '--console',
        action='store_true',
        help='the same, and start the console: the last line is its address',
    )
    modes.add_argument(
        '--stop',
        action='store_true',
        help='end the processes of --keep and --console',
    )
    modes.add_argument(
        '--verify',
        type=pathlib.Path,
        metavar='FILE',
        help='fail if FILE does not show this output; durations may differ',
    )
    return parser


def _verify(document: pathlib.Path, demo: demonstration.Demonstration) -> int:
    shown = _SECONDS.sub('N s', _without_indent(document.read_text()))
    printed = _SECONDS.sub('N s', '\n'.join(demo.transcript))
    missing = [
        line
        for line in printed.splitlines()
        if line.strip() and line.strip() not in shown
    ]
    for line in missing:
        print(f'{document} does not show: {line}', file=sys.stderr)
    return 1 if missing else 0


def _without_indent(text: str) -> str:
    return '\n'.join(line.strip() for line in text.splitlines())


if __name__ == '__main__':
    sys.exit(main())
