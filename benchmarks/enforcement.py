"""Time of a changing request to Ironic, with the middleware and without it.

Two real Ironics, one of them with the middleware, whose records are on MariaDB
with 10,000 nodes. Each request goes to both of them in turn, over connections
that stay open; the one with the middleware gets the signed header, and the
middleware reads the records. The time contains the making of the header. Reads
have none, as those of the drivers.
Both are started eight times and change places: no two processes are equally
fast, and they differ by more than the middleware takes.

    python -m benchmarks.enforcement [--requests 1000]
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import json
import math
import statistics
import sys
import time
from collections.abc import Sequence

from benchmarks import deployment, table
from ironic_ownership.contracts import model, reasons
from ironic_ownership.contracts import records as contract
from ironic_ownership.contracts.request_header import HEADER, READS, Claim
from ironic_ownership.db import connection
from ironic_ownership.db.records import SqlRecords
from lab import ironic, ironic_api, mariadb

LONGEST = 3.0
"""Milliseconds that the middleware may add at the median."""

SHARE = 1.05
"""Of the time without it, at the median."""

_Times = tuple[list[float], list[float]]
"""Milliseconds of the requests with the middleware, and without it."""

_STARTS = 8
"""Of both Ironics; the requests are divided among them."""

_HOST = 'host1'
_KEY = 'a-key-for-measurements-that-is-long-enough'
_NODES = 10_000
_BODY = [{'op': 'add', 'path': '/extra/number', 'value': 'x'}]


class _Client:
    """Sends requests for one node to one Ironic, over one connection.

    :param epoch: of the service; without it no header is sent.
    """

    def __init__(
        self, server: ironic.Ironic, uuid: str, epoch: int | None = None
    ) -> None:
        self._connection = http.client.HTTPConnection('127.0.0.1', server.port)
        self._path = f'/v1/nodes/{uuid}'
        self._uuid, self._epoch = uuid, epoch

    def milliseconds(self, method: str, number: int) -> float:
        """Return the time of one request."""
        headers = {
            'Content-Type': 'application/json',
            'X-OpenStack-Ironic-API-Version': ironic_api.MICROVERSION,
        }
        body = None
        if method == 'PATCH':
            body = json.dumps([{**_BODY[0], 'value': str(number)}])
        begun = time.perf_counter()
        if self._epoch is not None and method not in READS:
            claim = Claim(_HOST, self._epoch, self._uuid)
            headers[HEADER] = claim.header(_KEY, method, self._path)
        self._connection.request(method, self._path, body, headers)
        answer = self._connection.getresponse()
        text = answer.read()
        if answer.status != 200:
            raise RuntimeError(f'{method}: {answer.status} {text!r}')
        return (time.perf_counter() - begun) * 1000


def _measure(
    clients: Sequence[_Client],
    method: str,
    requests: int,
    times: _Times,
) -> None:
    """Add the milliseconds of each request to those of its client."""
    for number in range(-10, requests):
        # Each is the first one as often as the other.
        order = (0, 1) if number % 2 else (1, 0)
        for which in order:
            took = clients[which].milliseconds(method, number)
            if number >= 0:
                times[which].append(took)


def _rows(method: str, times: _Times) -> list[table.Row]:
    ours, peer = map(statistics.median, times)
    name = f'{method}, median of {len(times[0])}'
    return [
        table.Row(f'{name}: with and without', ours, peer, 'ms', SHARE),
        table.Row(
            f'{name}: added', ours - peer, peer, 'ms', math.inf, LONGEST
        ),
    ]


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print the table, and tell whether the targets are met."""
    parser = argparse.ArgumentParser(
        prog='python -m benchmarks.enforcement',
        description='Compare requests to Ironic with and without middleware.',
    )
    parser.add_argument('--requests', type=int, default=1000)
    args = parser.parse_args(argv)
    with contextlib.ExitStack() as stack:
        directory = stack.enter_context(deployment.directory())
        database = mariadb.MariaDB(
            deployment.subdirectory(directory, 'mariadb')
        )
        stack.callback(database.stop)
        database.start()
        url = database.create_database('records')
        deployment.upgrade(url)
        options = {'connection': url, 'shared_keys': _KEY}
        times: dict[str, _Times] = {'PATCH': ([], []), 'GET': ([], [])}
        each = math.ceil(args.requests / _STARTS)
        for start in range(_STARTS):
            names = ('one', 'other') if start % 2 else ('other', 'one')
            with contextlib.ExitStack() as pair:
                with_it, without = (
                    pair.enter_context(
                        ironic.Ironic(directory / name, middleware=given)
                    )
                    for name, given in zip(names, (options, None), strict=True)
                )
                uuids = [
                    str(server.request('POST', '/nodes', json=_NODE)['uuid'])
                    for server in (with_it, without)
                ]
                ours = _Client(with_it, uuids[0], _own(url, uuids[0]))
                peer = _Client(without, uuids[1])
                for method, found in times.items():
                    _measure((ours, peer), method, each, found)

    rows = [
        row for method, found in times.items() for row in _rows(method, found)
    ]
    return table.show('Requests to Ironic', rows)


_NODE = {'driver': 'fake-hardware'}


def _own(url: str, uuid: str) -> int:
    """Record nodes as those of a service; return its epoch."""
    with contextlib.closing(connection.open_database(url)) as database:
        records = SqlRecords(database)
        epoch = records.register(_HOST, model.MemberSettings())
        uuids = [
            uuid,
            *(f'00000000-0000-4000-8000-{n:012}' for n in range(_NODES - 1)),
        ]
        records.apply(
            _HOST,
            epoch,
            [
                contract.Claim(model.Node(one), reasons.Reason.EXCLUSIVE)
                for one in uuids
            ],
        )
        return epoch


if __name__ == '__main__':
    sys.exit(main())
