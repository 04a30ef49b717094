"""Deployed nodes moved to another service, with every gate.

Peer: ``nova-manage db ironic_compute_node_move``, which moves one node.
"""

from __future__ import annotations

import time

from benchmarks.nova.cloud import Cloud
from benchmarks.nova.results import Results
from ironic_ownership import wiring
from ironic_ownership.conf.configuration import new
from ironic_ownership.contracts.calls import new_request_id
from ironic_ownership.contracts.moves import Move, NodeState
from ironic_ownership.engine.changes.moves import MoveNodes
from ironic_ownership.engine.changes.selection import Selection
from lab import nova_copies, nova_schema, process

_BY_NOVA = 3
"""Nodes that Nova's own command moves, one by one."""

_PER = 1000
"""Nodes for which the table has the seconds."""


def measure(cloud: Cloud, results: Results) -> None:
    """Deploy all nodes on host1, and move them to host2.

    No nova-compute may run, and host1 must have had the place of host1 last.
    """
    report = cloud.progress.report
    one, two = (cloud.compute(host, 'ours') for host in ('host1', 'host2'))
    one.begin()
    one.wait()
    _wait_for_rows(cloud, 'host1', len(cloud.nodes))
    _deploy(cloud)
    report(f'{len(cloud.nodes)} servers run on host1')
    two.begin()
    two.wait()
    one.nova.kill()
    report('host1 is killed, host2 is up')
    cloud.run('ironic-ownership', 'service', 'set', 'host1', '--down', '-y')
    seconds = _move(cloud)
    results.note('ours', 'move', seconds / len(cloud.nodes) * _PER)
    _check(cloud, two.host)
    results.note('stock', 'move', _move_by_nova(cloud) * _PER)
    two.nova.stop()


def _deploy(cloud: Cloud) -> None:
    """Boot one server through Nova's API, and put copies on the others."""
    cloud.nova.map_hosts()
    api = cloud.nova.start_api()
    server = api.boot('server')
    api.wait_for_server(server, 'ACTIVE', timeout=900)
    [row] = cloud.nova.rows('node', f"instances WHERE uuid = '{server}'")
    others = [node for node in cloud.nodes if node != row['node']]
    nova_copies.copy_server(cloud.nova, cloud.ironic, server, others)
    # host1 records the instances with its next refresh.
    cloud.progress.wait_for(
        lambda: (
            cloud.nova.database.query(
                'SELECT COUNT(*) FROM ownership.instances '
                'WHERE open_node_uuid IS NOT NULL'
            )
            == [(len(cloud.nodes),)]
        ),
        'records of all instances',
        pause=0.5,
    )


def _move(cloud: Cloud) -> float:
    """Move all nodes; return the seconds, without those of a new process."""
    wired = wiring.Wiring(
        new([f'--config-file={cloud.operator_config}'], 'benchmark')
    )
    identity = new_request_id()
    with wired.ports() as ports:
        operation = MoveNodes(
            ports,
            wired.moves,
            sharded=wired.sharded,
            permission_lifetime=wired.permission_lifetime,
        )
        order = Move(identity, 'host2', 'benchmark')
        cloud.progress.wait_for(
            lambda: (
                not operation.propose(order, Selection(source='host1')).refused
            ),
            'move that every gate permits',
            pause=0.5,
        )
        done: list[float] = []
        begin, worked = time.monotonic(), time.process_time()
        proposal = operation.propose(order, Selection(source='host1'))
        planned = time.monotonic()
        (result,) = operation.execute_all(
            [proposal], progress=lambda count, total: done.append(_now())
        )
        end, worked = time.monotonic(), time.process_time() - worked
    wired.close()
    moved = result.count(NodeState.MOVED)
    if moved != len(cloud.nodes) or result.findings:
        raise process.LabError(f'{moved} moved: {result.findings[:3]}')
    cloud.progress.report(
        f'{moved} nodes moved in {done[-1] - begin:.2f} s: gates '
        f'{planned - begin:.2f} s, transactions {done[-1] - planned:.2f} s; '
        f'verification {end - done[-1]:.2f} s; processor of the operation '
        f'{worked:.2f} s'
    )
    return done[-1] - begin


def _now() -> float:
    return time.monotonic()


def _check(cloud: Cloud, host: str) -> None:
    """Check in the tables of Nova that everything has the new host."""
    rows = cloud.nova.rows(
        'i.host AS instance, c.host AS node, s.host AS service',
        'instances AS i '
        f'JOIN {nova_schema.CELL1}.compute_nodes AS c '
        'ON c.hypervisor_hostname = i.node AND c.deleted = 0 '
        f'JOIN {nova_schema.CELL1}.services AS s ON s.id = c.service_id '
        'WHERE i.deleted = 0',
    )
    found = {tuple(row.values()) for row in rows}
    if found != {(host, host, host)} or len(rows) != len(cloud.nodes):
        raise process.LabError(f'after the move: {len(rows)} rows, {found}')


def _move_by_nova(cloud: Cloud) -> float:
    """Move some nodes back, by Nova's command; return the seconds of each."""
    cloud.nova.database.query(
        f'UPDATE {nova_schema.CELL1}.services SET forced_down = '
        "(host = 'host2') WHERE `binary` = 'nova-compute'"
    )
    begin = time.monotonic()
    for node in cloud.nodes[:_BY_NOVA]:
        done = cloud.nova.manage(
            *('db', 'ironic_compute_node_move', '--ironic-node-uuid', node),
            *('--destination-host', 'host1'),
        )
        if done.returncode:
            raise process.LabError(f'nova-manage: {done.tail()}')
    return (time.monotonic() - begin) / _BY_NOVA


def _wait_for_rows(cloud: Cloud, host: str, count: int) -> None:
    cloud.progress.wait_for(
        lambda: cloud.count_rows(host) == count, f'rows of {host}', pause=0.5
    )
