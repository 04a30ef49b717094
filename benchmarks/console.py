"""The map of the console with many nodes, in Debian's Chromium.

The HTTP service is replaced by a client that has all nodes in memory: its
pages cost the same for any number of nodes, see ``scale``. Time counts from
the last byte of the data to the last square; memory is that of the process
that draws the page.

    python -m benchmarks.console [--nodes 100000]
"""

from __future__ import annotations

import argparse
import sys
import threading
from collections.abc import Iterator, Sequence
from typing import Any

import psutil
from selenium.webdriver.support.ui import WebDriverWait
from werkzeug import serving

from benchmarks import table
from ironic_ownership_console import app, fleet
from ironic_ownership_console.service import Service
from lab import chromium

_SECONDS = 2.0
_MEGABYTES = 300.0
_SERVICES = 20
_MEASURE = """
const data = performance.getEntriesByType('resource')
  .find(entry => entry.name.endsWith('/fleet.json'));
const map = document.getElementById('map');
return [data.responseEnd - data.requestStart,
        map.dataset.at - data.responseEnd];
"""


class _Nodes(Service):
    """Answers as an HTTP service with that many nodes."""

    def __init__(self, nodes: int) -> None:
        super().__init__('http://127.0.0.1')
        self._nodes = nodes

    def get(self, token: str, path: str, **query: Any) -> Any:
        """Return an overview, or an empty page."""
        return {
            'state': 'ok',
            'nodes': self._nodes,
            'services': [],
            'findings': [],
            'moves': [],
            'pauses': [],
            'warnings': [],
            'read_at': '',
            'check_age': 0,
            'unowned': 0,
            'owned_twice': 0,
            'drifted': 0,
            'without_live_owner': 0,
            'waiting': 0,
        }

    def pages(
        self, token: str, path: str, key: str, **query: Any
    ) -> Iterator[list[dict[str, Any]]]:
        """Yield all nodes as one page."""
        if path != fleet.PATH:
            return
        yield [
            {
                'uuid': f'{number:08x}-0000-4000-8000-000000000000',
                'name': f'rack{number % _SERVICES}-node{number}',
                'service': f'rack{number % _SERVICES}',
                'state': 'owned' if number % 50 else 'filtered',
                'instance_uuid': str(number) if number % 3 else None,
                'shard': f'shard{number % _SERVICES}',
                'conductor_group': 'east' if number % 2 else 'west',
                'reason': 'assigned',
                'unavailable': 'maintenance' if number % 25 == 0 else None,
            }
            for number in range(self._nodes)
        ]


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print the table, and tell whether the targets are met."""
    parser = argparse.ArgumentParser(
        prog='python -m benchmarks.console',
        description='Draw the map of the console in a browser.',
    )
    parser.add_argument('--nodes', type=int, default=100_000)
    nodes = parser.parse_args(argv).nodes
    server = serving.make_server(
        '127.0.0.1', 0, app.build(_Nodes(nodes)), threaded=True
    )
    threading.Thread(target=server.serve_forever, daemon=True).start()
    data, drawn, memory = _draw(f'http://127.0.0.1:{server.server_port}/')
    return table.show(
        f'console: map of {nodes} nodes in Chromium',
        [
            table.Row(
                'from the data to the last square; peer: the data itself',
                *(drawn, data, 's', 1.0),
                bound=_SECONDS,
            ),
            table.Row(
                'memory of the page; peer: the target',
                *(memory, _MEGABYTES, 'MB', 1.0),
            ),
        ],
    )


def _draw(url: str) -> tuple[float, float, float]:
    """Return seconds of the data, seconds until it is drawn, megabytes."""
    driver = chromium.start()
    try:
        driver.get(url)
        WebDriverWait(driver, 120).until(
            lambda _: driver.execute_script(
                'return document.getElementById("map").dataset.at'
            )
        )
        data, drawn = driver.execute_script(_MEASURE)
        # That of the page, not of the spare one that waits for the next.
        memory = max(
            process.memory_info().rss
            for process in psutil.Process(driver.service.process.pid).children(
                recursive=True
            )
            if '--type=renderer' in process.cmdline()
        )
    finally:
        driver.quit()
    return data / 1000, drawn / 1000, memory / 1e6


if __name__ == '__main__':
    sys.exit(main())
