"""Reports of many nodes to a real Placement, against plain requests.

Both write the same to their own Placement: a provider, its inventory and its
traits for each node, with three requests, the minimum. Ours includes all other
work of a service: the plan, the read of the records before each batch, and the
digests on record after it. They take turns, a tenth of the nodes each, because
all processes share the machine.

Then a refresh without a change, which must send no request, for the owner and
for a successor; and a refresh in which ten nodes become unavailable, against
the plain reads and writes for those.

    python -m benchmarks.inventory [--nodes 10000]
"""

from __future__ import annotations

import argparse
import dataclasses
import functools
import pathlib
import sys
import tempfile
import time
import types
import uuid as uuid_
from collections.abc import Callable, Sequence
from typing import Any

from oslo_config import cfg

from benchmarks import table
from ironic_ownership.clients import options
from ironic_ownership.clients.placement import client
from ironic_ownership.contracts import model, reasons
from ironic_ownership.contracts.calls import monotonic
from ironic_ownership.contracts.records import Change, Claim, Update
from ironic_ownership.db import connection, records, schema
from ironic_ownership.engine import conditions
from ironic_ownership.engine.host import refresh_result
from ironic_ownership.engine.membership import fence
from ironic_ownership.engine.membership.service_context import ServiceContext
from ironic_ownership.engine.placement import inventory_diff, report
from lab import placement

OVERHEAD = 1.3
"""Wall time at most, as a multiple of that of the bare requests."""

HOST = 'host1'
_BATCH = 500
_TURNS = 10


@dataclasses.dataclass(frozen=True)
class Took:
    """Seconds, and the number of requests that Placement logged."""

    wall: float
    cpu: float
    requests: int

    def __add__(self, other: Took) -> Took:
        """Return the sum of both."""
        return Took(
            self.wall + other.wall,
            self.cpu + other.cpu,
            self.requests + other.requests,
        )


class Service:
    """One service with nodes on record, and its Placement."""

    def __init__(
        self, directory: pathlib.Path, server: placement.Placement
    ) -> None:
        self._log = server.directory / 'placement.log'
        self._server = server
        self._database = connection.open_database(
            f'sqlite:///{directory}/records.sqlite'
        )
        schema.ensure(self._database)
        self._records = records.SqlRecords(self._database)
        self._epoch = self._records.register(HOST, model.MemberSettings())
        self._fence = fence.Fence(1e9, 0)
        self._fence.open(monotonic(), self._epoch)

    def own(self, nodes: Sequence[model.Node]) -> None:
        """Put nodes on record."""
        self._apply([Claim(node, reasons.Reason.EXCLUSIVE) for node in nodes])

    def make_unavailable(self, nodes: Sequence[model.Node]) -> None:
        """Record that nodes cannot be scheduled to."""
        change = reasons.Evaluation(reasons.Unavailable.MAINTENANCE)
        self._apply([Update(node, change) for node in nodes])

    def _apply(self, changes: Sequence[Change]) -> None:
        for start in range(0, len(changes), _BATCH):
            self._records.apply(
                HOST, self._epoch, changes[start : start + _BATCH]
            )

    def process(self) -> report.PlacementReport:
        """Return the reporter of a process that has just started."""
        ports: Any = types.SimpleNamespace(records=self._records)
        return report.PlacementReport(
            ServiceContext(HOST, ports, self._fence, conditions.Conditions()),
            open_client(self._server),
        )

    def tell(
        self,
        process: report.PlacementReport,
        nodes: Sequence[model.Node],
    ) -> Took:
        """Report a refresh."""
        return timed(
            self._log,
            lambda: process.report(
                refresh_result.RefreshResult({n.uuid: n for n in nodes}),
                lambda: False,
            ),
        )

    def close(self) -> None:
        """Close the records."""
        self._database.close()


def timed(log: pathlib.Path, work: Callable[[], object]) -> Took:
    """Run some work, and return its cost."""
    before = _requests(log)
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    return Took(wall, cpu, _requests(log) - before)


def _requests(log: pathlib.Path) -> int:
    return log.read_text().count('requestlog')


def open_client(server: placement.Placement) -> client.PlacementClient:
    """Open a client as the service does."""
    path = server.directory / 'client.conf'
    lines = [f'{name} = {text}' for name, text in server.options().items()]
    path.write_text('\n'.join(['[placement]', *lines, '']))
    conf = cfg.ConfigOpts()
    conf([], default_config_files=[str(path)], default_config_dirs=[])
    opened = options.open_placement(conf)
    assert opened is not None
    return opened


def make_nodes(count: int) -> list[model.Node]:
    """Return nodes as Ironic lists them."""
    return [
        model.Node(
            str(uuid_.uuid4()),
            name=f'node-{number}',
            driver='fake-hardware',
            resource_class='baremetal',
            traits=('CUSTOM_LAB', 'HW_CPU_X86_VMX'),
        )
        for number in range(count)
    ]


def bare_names(server: placement.Placement, node: model.Node) -> None:
    """Create the custom names that a node's provider has."""
    wanted = inventory_diff.wanted(node, None)
    for name in wanted.resources:
        server.request('PUT', f'/resource_classes/{name}')
    for trait in wanted.traits:
        if trait.startswith('CUSTOM_'):
            server.request('PUT', f'/traits/{trait}')


def bare_report(
    server: placement.Placement, nodes: Sequence[model.Node]
) -> None:
    """Send the minimal requests."""
    wanted = inventory_diff.wanted(nodes[0], None)
    (name,) = wanted.resources
    inventories = {name: dataclasses.asdict(wanted.resources[name])}
    for node in nodes:
        path = f'/resource_providers/{node.uuid}'
        server.request(
            'POST',
            '/resource_providers',
            json={'uuid': node.uuid, 'name': node.uuid},
        )
        server.request(
            'PUT',
            f'{path}/inventories',
            json={
                'resource_provider_generation': 0,
                'inventories': inventories,
            },
        )
        server.request(
            'PUT',
            f'{path}/traits',
            json={
                'resource_provider_generation': 1,
                'traits': sorted(wanted.traits),
            },
        )


def bare_change(
    server: placement.Placement, nodes: Sequence[model.Node]
) -> None:
    """Reserve nodes that are known: one read and one write each."""
    wanted = inventory_diff.wanted(nodes[0], 'maintenance')
    (name,) = wanted.resources
    for node in nodes:
        path = f'/resource_providers/{node.uuid}/inventories'
        seen = server.request('GET', path)
        server.request(
            'PUT',
            path,
            json={
                'resource_provider_generation': seen[
                    'resource_provider_generation'
                ],
                'inventories': {
                    name: dataclasses.asdict(wanted.resources[name])
                },
            },
        )


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print the table, and tell whether the targets are met."""
    parser = argparse.ArgumentParser(
        prog='python -m benchmarks.inventory',
        description='Report nodes to a real Placement.',
    )
    parser.add_argument('--nodes', type=int, default=10_000)
    args = parser.parse_args(argv)
    nodes = make_nodes(args.nodes)
    leaving = nodes[:: max(len(nodes) // 10, 1)]
    with tempfile.TemporaryDirectory(prefix='inventory-') as name:
        directory = pathlib.Path(name)
        with (
            placement.Placement(directory / 'bare') as peer,
            placement.Placement(directory / 'placement') as server,
        ):
            service = Service(directory, server)
            try:
                return _compare(service, peer, nodes, leaving)
            finally:
                service.close()


def _compare(
    service: Service,
    peer: placement.Placement,
    nodes: Sequence[model.Node],
    leaving: Sequence[model.Node],
) -> int:
    log = peer.directory / 'placement.log'
    process = service.process()
    bare = timed(log, lambda: bare_names(peer, nodes[0]))
    first = Took(0.0, 0.0, 0)
    part = max(len(nodes) // _TURNS, 1)
    for start in range(0, len(nodes), part):
        some = nodes[start : start + part]
        bare += timed(log, functools.partial(bare_report, peer, some))
        service.own(some)
        first += service.tell(process, nodes[: start + part])
    bare_leaving = timed(log, lambda: bare_change(peer, leaving))
    steady = service.tell(process, nodes)
    successor = service.process()
    taken_over = service.tell(successor, nodes)
    service.make_unavailable(leaving)
    change = service.tell(successor, nodes)
    code = table.show(
        f'Reports of {len(nodes)} nodes to a real Placement, against the '
        'bare requests',
        [
            table.Row(
                'first report, wall', first.wall, bare.wall, 's', OVERHEAD
            ),
            table.Row(
                'first report, requests',
                first.requests,
                bare.requests,
                '',
                1.001,
            ),
            table.Row(
                f'{len(leaving)} nodes leave scheduling, requests',
                change.requests,
                bare_leaving.requests,
                '',
                1.2,
            ),
        ],
    )
    quiet = steady.requests + taken_over.requests
    print(
        f'A refresh without a change: {steady.requests} requests, '
        f'{steady.cpu:.2f} s of CPU; the first one of a successor: '
        f'{taken_over.requests} requests, {taken_over.cpu:.2f} s; '
        f'{"as it has to be" if not quiet else "MISSED: has to be 0"}'
    )
    print(
        f'First report: {1000 * first.wall / len(nodes):.1f} ms a node, '
        f'{1000 * first.cpu / len(nodes):.1f} ms of them our CPU; the change: '
        f'{change.wall:.2f} s, bare {bare_leaving.wall:.2f} s'
    )
    return 1 if quiet else code


if __name__ == '__main__':
    sys.exit(main())
