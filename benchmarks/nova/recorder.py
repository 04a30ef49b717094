"""Program: nova-compute that writes down each pass of its resource tracker.

Run by the Python of Nova's environment, with the arguments of nova-compute,
for Nova's own driver and for the one of this project alike. Each pass is two
lines of JSON in the file that PASSES names: its begin and its end.
"""

from __future__ import annotations

import functools
import importlib
import json
import os
import pathlib
import sys
import time
from collections.abc import Callable
from typing import Any


def main() -> None:
    """Run nova-compute, with a pass that is recorded."""
    # First of all: it prepares Python for the threads of Nova.
    program = importlib.import_module('nova.cmd.compute')
    config: Any = importlib.import_module('nova.config')
    parse = config.parse_args

    def parse_args(*given: Any, **named: Any) -> None:
        parse(*given, **named)
        _record()

    # The manager takes the intervals of its tasks when it is imported.
    config.parse_args = parse_args
    sys.argv[0] = 'nova-compute'
    program.main()


def _record() -> None:
    """Replace the pass of the manager."""
    manager = importlib.import_module('nova.compute.manager').ComputeManager
    timed = _timed(manager.update_available_resource)
    manager.update_available_resource = timed
    # The periodic tasks were collected when the class was made.
    manager._periodic_tasks = [
        (name, timed if name == timed.__name__ else task)
        for name, task in manager._periodic_tasks
    ]


def _timed(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def update(self: Any, context: Any, startup: bool = False) -> Any:
        _write('begin')
        try:
            return original(self, context, startup=startup)
        finally:
            _write('end')

    return update


def _write(event: str) -> None:
    with pathlib.Path(os.environ['PASSES']).open('a') as output:
        output.write(
            json.dumps(
                {
                    'event': event,
                    'at': time.monotonic(),
                    'cpu': time.process_time(),
                }
            )
            + '\n'
        )


if __name__ == '__main__':
    main()
