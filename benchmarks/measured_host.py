"""Host process that refreshes once for each line of its input.

It answers each with a line of JSON, the figures of that refresh. It imports
nothing of the servers that it is measured with: their libraries would count
as its memory.

    python -m benchmarks.measured_host CONFIG PID_OF_IRONIC
"""

from __future__ import annotations

import json
import pathlib
import queue
import sys
import threading
import time
from typing import Any

import sqlalchemy as sa

from benchmarks import processor_time
from ironic_ownership import wiring
from ironic_ownership.clients.ironic import api
from ironic_ownership.conf import log_format
from ironic_ownership.conf.configuration import new
from ironic_ownership.wiring import heap

AT_REST = 0.2
"""Seconds after a refresh; free memory was given back by then."""


def main(config: str, server: int) -> int:
    """Serve until the input ends.

    :param config: path of the configuration.
    :param server: process id of Ironic.
    """
    conf = new(['--config-file', config], 'scale')
    log_format.setup(conf, 'scale')
    host = wiring.Wiring(conf).host()
    heap.keep()
    counts = {'requests': 0, 'statements': 0}
    send = api.IronicAPI._send

    def counted(self: Any, *args: Any, **kwargs: Any) -> Any:
        counts['requests'] += 1
        return send(self, *args, **kwargs)

    api.IronicAPI._send = counted  # type: ignore[method-assign]

    def executed(*_: Any) -> None:
        if threading.current_thread().name == 'refresh':
            counts['statements'] += 1

    sa.event.listen(sa.Engine, 'before_cursor_execute', executed)
    figures: queue.Queue[dict[str, float]] = queue.Queue()
    go = threading.Semaphore(0)
    plain = host.refresh_loop.refresher.refresh

    def refresh() -> Any:
        go.acquire()
        counts.update(requests=0, statements=0)
        wall, cpu = time.perf_counter(), time.process_time()
        theirs = processor_time.of_tree(server)
        summary = plain()
        figures.put(
            {
                'wall': time.perf_counter() - wall,
                'cpu': cpu,
                'ironic cpu': processor_time.of_tree(server) - theirs,
                **counts,
                'applied': summary.applied,
            }
        )
        return summary

    host.refresh_loop.refresher.refresh = refresh  # type: ignore[method-assign]
    worker = threading.Thread(target=host.run, name='host')
    worker.start()
    for _ in sys.stdin:
        go.release()
        host.refresh_loop.wake()
        found = figures.get()
        time.sleep(AT_REST)
        found['cpu'] = time.process_time() - found['cpu']
        found['memory'] = _memory('VmRSS')
        found['peak memory'] = _memory('VmHWM')
        print(json.dumps(found), flush=True)
    host.stop()
    go.release()
    worker.join()
    return 0


def _memory(name: str) -> float:
    """Return a figure of the memory of this process, in MiB."""
    for line in pathlib.Path('/proc/self/status').read_text().splitlines():
        if line.startswith(f'{name}:'):
            return int(line.split()[1]) / 1024
    raise ValueError(name)


if __name__ == '__main__':
    sys.exit(main(sys.argv[1], int(sys.argv[2])))
