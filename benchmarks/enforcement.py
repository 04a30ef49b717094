"""Time of a changing request to Ironic, with the middleware and without it.

Two real Ironics, one of them with the middleware, whose records are on MariaDB
with 10,000 nodes. Each request goes to both of them in turn, over connections
that stay open; the one with the middleware gets the signed header, and the
middleware reads the records. Reads have the header, too: they cost nothing.

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
from ironic_ownership.contracts.request_header import HEADER, Claim
from ironic_ownership.db import connection
from ironic_ownership.db.records import SqlRecords
from lab import ironic, ironic_api, mariadb

LONGEST = 3.0
"""Milliseconds that the middleware may add at the median."""

SHARE = 1.05
"""Of the time without it, at the median."""

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
        if self._epoch is not None:
            claim = Claim(_HOST, self._epoch, self._uuid)
            headers[HEADER] = claim.header(_KEY, method, self._path)
        self._connection.request(method, self._path, body, headers)
        answer = self._connection.getresponse()
        text = answer.read()
        if answer.status != 200:
            raise RuntimeError(f'{method}: {answer.status} {text!r}')
        return (time.perf_counter() - begun) * 1000


def _compare(
    ours: _Client, peer: _Client, method: str, requests: int
) -> list[table.Row]:
    clients = (ours, peer)
    times: tuple[list[float], list[float]] = ([], [])
    for number in range(-10, requests):
        # Each is the first one as often as the other.
        order = (0, 1) if number % 2 else (1, 0)
        for which in order:
            took = clients[which].milliseconds(method, number)
            if number >= 0:
                times[which].append(took)
    medians = [statistics.median(found) for found in times]
    more = medians[0] - medians[1]
    name = f'{method}, median of {requests}'
    return [
        table.Row(
            f'{name}: with and without', medians[0], medians[1], 'ms', SHARE
        ),
        table.Row(f'{name}: added', more, medians[1], 'ms', math.inf, LONGEST),
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
        with_it, without = (
            stack.enter_context(
                ironic.Ironic(directory / name, middleware=options)
            )
            for name, options in (
                ('with', {'connection': url, 'shared_keys': _KEY}),
                ('without', None),
            )
        )
        uuids = [
            str(server.request('POST', '/nodes', json=_NODE)['uuid'])
            for server in (with_it, without)
        ]
        ours = _Client(with_it, uuids[0], _own(url, uuids[0]))
        peer = _Client(without, uuids[1])
        rows = [
            row
            for method in ('PATCH', 'GET')
            for row in _compare(ours, peer, method, args.requests)
        ]

    return table.show('Requests to Ironic', rows)


_NODE = {'driver': 'fake-hardware', 'name': 'measured'}


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
