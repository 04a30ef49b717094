"""Time from a fence in the records until the process has closed its own.

One real host with all its threads, in this process, on PostgreSQL. Its service
is forced down, failed over to another process, or registered by another one,
each at a random moment between two heartbeats. The time ends when its fence is
closed, which is polled every millisecond. The target is one heartbeat
interval and half a second for the query, on any membership backend.

    python -m benchmarks.fencing [--backend db --backend etcd] [--rounds 20]
                                 [--heartbeat 5]
"""

from __future__ import annotations

import argparse
import contextlib
import pathlib
import random
import statistics
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence

from benchmarks import deployment, stores, table
from ironic_ownership import wiring
from ironic_ownership.conf.configuration import new
from ironic_ownership.engine.host.process import Host
from ironic_ownership.engine.ports import Records
from lab import ironic

QUERY = 0.5
"""Seconds for the query, on a busy machine."""

_HOST = 'host1'
_PATIENCE = 120.0
_POLL = 0.001


def _force_down(records: Records) -> None:
    records.set_service(_HOST, actor='benchmark', forced_down=True)


def _fail_over(records: Records) -> None:
    records.fail_over(_HOST, incarnation='other', actor='benchmark')


def _register_other(records: Records) -> None:
    row = records.service(_HOST)
    assert row is not None
    records.register(_HOST, row.settings, incarnation='other')


FENCES: Mapping[str, Callable[[Records], None]] = {
    'service set --down': _force_down,
    'service failover': _fail_over,
    'registration of another process': _register_other,
}
"""What fences the service, by its name in the table."""


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print the table, and tell whether the targets are met."""
    parser = argparse.ArgumentParser(
        prog='python -m benchmarks.fencing',
        description='Time how long a fenced process keeps its own fence open.',
    )
    parser.add_argument(
        '--backend',
        choices=sorted(stores.SMALLEST),
        action='append',
        help='which store; may be repeated; db and etcd if not given',
    )
    parser.add_argument('--rounds', type=int, default=20)
    parser.add_argument('--heartbeat', type=float, default=5.0)
    args = parser.parse_args(argv)
    rows = []
    with contextlib.ExitStack() as stack:
        directory = stack.enter_context(deployment.directory())
        server = stack.enter_context(ironic.Ironic(directory / 'ironic'))
        database = stack.enter_context(deployment.postgresql_in(directory))
        for backend in args.backend or ('db', 'etcd'):
            files = deployment.subdirectory(directory, backend)
            with stores.serving(backend, files) as store:
                url = database.create_database(backend)
                deployment.upgrade(url)
                config = files / 'host.conf'
                config.write_text(
                    deployment.configuration(
                        *(_HOST, 'all', url, server.endpoint),
                        # A refresh would notice it, too.
                        *('[ownership]', 'refresh_interval = 600'),
                        *stores.options(store),
                        '[membership]',
                        f'heartbeat_interval = {args.heartbeat}',
                        f'member_ttl = {4 * args.heartbeat}',
                    )
                )
                for name, fence in FENCES.items():
                    seconds = _measure(config, fence, args)
                    rows.append(_row(backend, name, seconds, args.heartbeat))
    return table.show('Fence in the records until the fence is closed', rows)


def _measure(
    config: pathlib.Path,
    fence: Callable[[Records], None],
    args: argparse.Namespace,
) -> list[float]:
    conf = new(['--config-file', str(config)], 'benchmark', logs=False)
    wired = wiring.Wiring(conf)
    host = wired.host()
    thread = threading.Thread(target=host.run)
    thread.start()
    try:
        return [
            _round(host, wired.records, fence, args.heartbeat)
            for _ in range(args.rounds)
        ]
    finally:
        host.stop()
        thread.join()
        wired.close()


def _round(
    host: Host,
    records: Records,
    fence: Callable[[Records], None],
    heartbeat: float,
) -> float:
    _wait_until(lambda: host.context.fence.may_act)
    time.sleep(random.uniform(0, heartbeat))
    fence(records)
    fenced = time.monotonic()
    _wait_until(lambda: not host.context.fence.may_act)
    seconds = time.monotonic() - fenced
    records.set_service(_HOST, actor='benchmark', forced_down=False)
    return seconds


def _wait_until(ready: Callable[[], bool]) -> None:
    deadline = time.monotonic() + _PATIENCE
    while not ready():
        if time.monotonic() > deadline:
            raise SystemExit('the host process does not act, or does not stop')
        time.sleep(_POLL)


def _row(
    backend: str, name: str, seconds: Sequence[float], heartbeat: float
) -> table.Row:
    return table.Row(
        f'{backend}: {name}, worst of {len(seconds)} (median '
        f'{statistics.median(seconds):.2f} s); the peer is the heartbeat '
        f'interval of {heartbeat:g} s + {QUERY:g} s',
        max(seconds),
        heartbeat + QUERY,
        's',
        1.0,
    )


if __name__ == '__main__':
    sys.exit(main())
