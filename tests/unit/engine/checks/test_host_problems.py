"""Findings of machines: standbys, and services that one machine serves."""

from __future__ import annotations

import dataclasses
import unittest

from ironic_ownership.contracts import model
from ironic_ownership.engine.checks import host_problems
from ironic_ownership.engine.checks.problem import CHECKS
from ironic_ownership.engine.queries.deployment import Deployment
from tests.unit.engine import world

A, B = world.runs(shard_key='a'), world.runs(shard_key='b')
Process = tuple[str, str | None, model.MemberSettings]


def seen(*processes: Process, owners: str = 'host1 host2') -> Deployment:
    """Return a deployment with these processes: the first is active."""
    members = [
        model.Member(
            host,
            f'{number}',
            number,
            dataclasses.replace(
                settings,
                process=machine and model.ProcessInfo(machine, 1, '1'),
            ),
        )
        for number, (host, machine, settings) in enumerate(processes)
    ]
    active: dict[str, model.Service] = {}
    for one in members:
        active.setdefault(
            one.host,
            model.Service(
                one.host, settings=one.settings, incarnation=one.incarnation
            ),
        )
    records = [world.record(n, h) for n, h in enumerate(owners.split())]
    return Deployment(
        services=active,
        view=model.View.of(members).serving(active.values()),
        records={record.uuid: record for record in records},
        interpret=world.interpret,
    )


def subjects(code: str, deployment: Deployment) -> list[tuple[str, ...]]:
    (one,) = (c for c in CHECKS if c.codes == (code,))
    return [problem.subjects for problem in one.find(deployment, one)]


class TestStandbys(unittest.TestCase):
    def find(self, *processes: Process) -> list[tuple[str, ...]]:
        assert host_problems
        return subjects('standby_on_same_machine', seen(*processes))

    def test_processes_of_one_machine_are_found_by_machine(self) -> None:
        self.assertEqual(
            [('host1', 'host2'), ('host3',)],
            self.find(
                *(('host1', 'one', A), ('host1', 'one', A)),
                *(('host2', 'one', B), ('host2', 'one', B)),
                *(('host3', 'two', B), ('host3', 'two', B)),
            ),
        )

    def test_standby_elsewhere_or_none_is_fine(self) -> None:
        self.assertEqual(
            [],
            self.find(
                *(('host1', 'one', A), ('host1', 'one', A)),
                *(('host1', 'two', A), ('host2', 'one', B)),
            ),
        )

    def test_unknown_machine_is_not_a_problem(self) -> None:
        self.assertEqual(
            [], self.find(('host1', 'one', A), ('host1', None, A))
        )
        self.assertEqual([], self.find(('host1', None, A), ('host1', None, A)))


class TestSingleMachines(unittest.TestCase):
    def find(self, *processes: Process, **more: str) -> list[tuple[str, ...]]:
        return subjects('single_machine', seen(*processes, **more))

    def test_service_without_standby_and_peer_is_found(self) -> None:
        alone = [('host1', 'one', A), ('host2', 'two', B)]
        self.assertEqual([('host1',), ('host2',)], self.find(*alone))
        self.assertEqual([('host2',)], self.find(*alone, owners='host2'))
        self.assertEqual([('host2',)], self.find(*alone, ('host1', 'two', A)))

    def test_peer_elsewhere_takes_its_nodes(self) -> None:
        ring = world.RING
        self.assertEqual(
            [], self.find(('host1', 'one', ring), ('host2', 'two', ring))
        )
        # Both are lost with that machine.
        self.assertEqual(
            [('host1', 'host2')],
            self.find(
                *(('host1', 'one', ring), ('host2', 'one', ring)),
                ('host3', 'two', A),
            ),
        )
        # Without an assigner no service takes the nodes of another one.
        self.assertEqual(
            [('host1',), ('host2',)],
            self.find(
                ('host1', 'one', world.ALL), ('host2', 'two', world.ALL)
            ),
        )

    def test_deployment_of_one_machine_is_left_alone(self) -> None:
        self.assertEqual(
            [], self.find(('host1', 'one', A), ('host2', 'one', B))
        )

    def test_unknown_machine_is_not_a_problem(self) -> None:
        self.assertEqual(
            [('host2',)],
            self.find(
                *(('host1', None, A), ('host2', 'two', B)),
                ('host3', 'one', A),
            ),
        )
