"""Requests admitted by a real Ironic under an ended right: none may be.

Two services ask a real Ironic with the middleware for changes of the same
nodes all the time, each with the epochs that it has had, the ended ones too.
An operator registers them again, forces them down and moves the nodes between
them. A request counts as a violation if Ironic admits it though the right
under which it was signed had ended before it was sent.

    python -m benchmarks.enforcement_races [--minutes 5] [--break cached]

With ``--break absent`` the middleware is missing, with ``--break cached`` it
keeps its answers for three seconds: violations have to be found then, and the
exit code is 0 if they are.
"""

from __future__ import annotations

import argparse
import collections
import concurrent.futures
import contextlib
import dataclasses
import http.client
import itertools
import json
import pathlib
import random
import sys
import threading
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence

from benchmarks import deployment
from ironic_ownership.contracts import model, reasons
from ironic_ownership.contracts import records as contract
from ironic_ownership.contracts.moves import Move, NodeMove
from ironic_ownership.contracts.request_header import HEADER, Claim
from ironic_ownership.db import connection
from ironic_ownership.db.moves import SqlMoves
from ironic_ownership.db.records import SqlRecords
from lab import ironic, ironic_api, mariadb

_HOSTS = ('one', 'two')
_KEY = 'a-key-for-races-that-is-long-enough'
_NODES = 4
_ASKING = 2
"""Threads for each service."""

_BROKEN = pathlib.Path(__file__).with_name('broken_middleware')


class Rights:
    """Rights to act, with the times of their ends as far as they are certain.

    A right is a service, one of its epochs, and a node. It ends with the
    commit that ends it; the time is noted after the commit was answered, so
    that no request is taken for late that was not.
    """

    def __init__(self) -> None:
        self.epochs: dict[str, list[int]] = collections.defaultdict(list)
        self._ended: dict[tuple[str, int, str], float] = {}
        self._lock = threading.Lock()

    def ended_at(self, claim: Claim) -> float | None:
        """Return when a right ended; ``None`` if it may still be one."""
        with self._lock:
            return self._ended.get((claim.service, claim.epoch, claim.node))

    def end(self, host: str, nodes: Sequence[str]) -> None:
        """Note that a service has lost nodes under all of its epochs."""
        now = time.monotonic()
        with self._lock:
            for epoch, node in itertools.product(self.epochs[host], nodes):
                self._ended.setdefault((host, epoch, node), now)

    def begin(self, host: str, epoch: int) -> None:
        """Note a new epoch."""
        with self._lock:
            self.epochs[host].append(epoch)

    def resume(self, host: str, nodes: Sequence[str]) -> None:
        """Note, before the commit, that a service may act on nodes again."""
        with self._lock:
            for node in nodes:
                self._ended.pop((host, self.epochs[host][-1], node), None)


class Operator:
    """Ends rights, one after the other.

    :param nodes: uuids; all begin with the first service.
    """

    def __init__(self, url: str, nodes: Sequence[str], rights: Rights) -> None:
        self._database = connection.open_database(url)
        self._records = SqlRecords(self._database)
        self._moves = SqlMoves(self._database)
        self._nodes, self._rights = nodes, rights
        self._owner, self._other = _HOSTS
        for host in _HOSTS:
            self._register(host)
        claims = [
            contract.Claim(model.Node(node), reasons.Reason.EXCLUSIVE)
            for node in nodes
        ]
        epoch = rights.epochs[self._owner][-1]
        self._records.apply(self._owner, epoch, claims)
        rights.end(self._other, nodes)

    def step(self, chance: random.Random) -> str:
        """Do one thing; return what it was."""
        do = chance.choice((self.register_again, self.force_down, self.move))
        do()
        return do.__name__

    def register_again(self) -> None:
        """Fence the owner by a new registration, as after a restart."""
        self._register(self._owner)

    def force_down(self) -> None:
        """Force the owner down for a moment."""
        self._set(self._owner, True)
        self._rights.end(self._owner, self._nodes)
        time.sleep(0.2)
        # Its epoch is the same, so the right returns.
        self._rights.resume(self._owner, self._nodes)
        self._set(self._owner, False)

    def move(self) -> None:
        """Move all nodes to the other service."""
        self._set(self._owner, True)
        self._rights.end(self._owner, self._nodes)
        move = Move(f'req-{uuid.uuid4()}', self._other, 'operator')
        planned = [NodeMove(node, self._owner) for node in self._nodes]
        self._moves.plan(move, planned)
        self._rights.resume(self._other, self._nodes)
        done = self._moves.carry_out(move.request_id, planned)
        if any(node.state != 'moved' for node in done):
            raise RuntimeError(str(done))
        self._owner, self._other = self._other, self._owner
        self._set(self._other, False)

    def _set(self, host: str, down: bool) -> None:
        self._records.set_service(host, actor='operator', forced_down=down)

    def _register(self, host: str) -> None:
        epoch = self._records.register(host, model.MemberSettings())
        self._rights.end(host, self._nodes)
        self._rights.begin(host, epoch)


@dataclasses.dataclass
class Counts:
    """Changes, answers and violations of a run."""

    statuses: collections.Counter[str] = dataclasses.field(
        default_factory=collections.Counter
    )
    steps: collections.Counter[str] = dataclasses.field(
        default_factory=collections.Counter
    )
    violations: list[str] = dataclasses.field(default_factory=list)


def _ask(
    host: str,
    port: int,
    nodes: Sequence[str],
    rights: Rights,
    counts: Counts,
    ending: threading.Event,
) -> None:
    """Send requests under the last epochs of a service, until the end."""
    chance = random.Random()
    client = http.client.HTTPConnection('127.0.0.1', port, timeout=60)
    body = json.dumps([{'op': 'add', 'path': '/extra/by', 'value': host}])
    while not ending.is_set():
        node = chance.choice(nodes)
        claim = Claim(host, chance.choice(rights.epochs[host][-3:]), node)
        path = f'/v1/nodes/{node}'
        headers = {
            'Content-Type': 'application/json',
            'X-OpenStack-Ironic-API-Version': ironic_api.MICROVERSION,
            HEADER: claim.header(_KEY, 'PATCH', path),
        }
        ended = rights.ended_at(claim)
        sent = time.monotonic()
        client.request('PATCH', path, body, headers)
        answer = client.getresponse()
        text = answer.read().decode()
        counts.statuses[f'{answer.status}{_code(answer.status, text)}'] += 1
        # Noted before it was sent, and not taken back while it was under way.
        if (
            ended is not None
            and answer.status < 300
            and rights.ended_at(claim) == ended
        ):
            counts.violations.append(
                f'{claim} was admitted {sent - ended:.3f} s after its end'
            )


def _code(status: int, text: str) -> str:
    if status < 300:
        return ''
    with contextlib.suppress(ValueError, KeyError, TypeError):
        return f' {json.loads(json.loads(text)["error_message"])["code"]}'
    return ' of Ironic'


def run(directory: pathlib.Path, seconds: float, broken: str | None) -> Counts:
    """Run for some time.

    :param broken: how the middleware is broken, if it is.
    """
    counts, rights, ending = Counts(), Rights(), threading.Event()
    with contextlib.ExitStack() as stack:
        database = mariadb.MariaDB(
            deployment.subdirectory(directory, 'mariadb')
        )
        stack.callback(database.stop)
        database.start()
        url = database.create_database('records')
        deployment.upgrade(url)
        server = stack.enter_context(_ironic(directory, url, broken))
        nodes = [
            str(server.request('POST', '/nodes', json=node)['uuid'])
            for node in (
                {'driver': 'fake-hardware', 'name': f'node{n}'}
                for n in range(_NODES)
            )
        ]
        operator = Operator(url, nodes, rights)
        threads = stack.enter_context(
            concurrent.futures.ThreadPoolExecutor(len(_HOSTS) * _ASKING)
        )
        stack.callback(ending.set)
        asking = [
            threads.submit(
                _ask, host, server.port, nodes, rights, counts, ending
            )
            for host in _HOSTS * _ASKING
        ]
        chance, deadline = random.Random(), time.monotonic() + seconds
        while time.monotonic() < deadline:
            counts.steps[operator.step(chance)] += 1
            time.sleep(chance.uniform(0.0, 1.0))
            for thread in asking:
                if thread.done():
                    thread.result()
        ending.set()
        for thread in asking:
            thread.result()
    return counts


@contextlib.contextmanager
def _ironic(
    directory: pathlib.Path, url: str, broken: str | None
) -> Iterator[ironic.Ironic]:
    options: Mapping[str, object] | None = {
        'connection': url,
        'shared_keys': _KEY,
    }
    environment: dict[str, str] = {}
    if broken == 'absent':
        options = None
    elif broken == 'cached':
        environment['PYTHONPATH'] = str(_BROKEN)
    with ironic.Ironic(
        directory / 'ironic', middleware=options, environment=environment
    ) as server:
        yield server


def main(argv: Sequence[str] | None = None) -> int:
    """Run, print what happened, and tell whether it is as it has to be."""
    parser = argparse.ArgumentParser(
        prog='python -m benchmarks.enforcement_races',
        description='Count requests that Ironic admits under an ended right.',
    )
    parser.add_argument('--minutes', type=float, default=5.0)
    parser.add_argument(
        '--break', dest='broken', choices=('absent', 'cached'), default=None
    )
    args = parser.parse_args(argv)
    with deployment.directory() as directory:
        counts = run(directory, args.minutes * 60, args.broken)
    for title, counted in (
        ('changes of the records', counts.steps),
        ('answers', counts.statuses),
    ):
        print(f'{title}:')
        for name, number in sorted(counted.items()):
            print(f'  {name:<28} {number}')
    found = len(counts.violations)
    print(f'admitted under an ended right: {found}')
    for violation in counts.violations[:5]:
        print(f'  {violation}')
    return 0 if bool(found) == bool(args.broken) else 1


if __name__ == '__main__':
    sys.exit(main())
