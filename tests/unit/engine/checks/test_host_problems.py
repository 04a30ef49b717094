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
    def test_processes_of_one_machine_are_found_by_machine(self) -> None:
        assert host_problems
        for processes, expected in (
            (
                [
                    *[('host1', 'one', A)] * 2,
                    *[('host2', 'one', B)] * 2,
                    *[('host3', 'two', B)] * 2,
                ],
                [('host1', 'host2'), ('host3',)],
            ),
            # Another standby is elsewhere, or there is none.
            (
                [
                    *[('host1', 'one', A)] * 2,
                    *(('host1', 'two', A), ('host2', 'one', B)),
                ],
                [],
            ),
            # An unknown machine may be another one.
            ([('host1', 'one', A), ('host1', None, A)], []),
            ([('host1', None, A)] * 2, []),
        ):
            found = subjects('standby_on_same_machine', seen(*processes))
            self.assertEqual(expected, found, processes)


class TestSingleMachines(unittest.TestCase):
    def find(self, *processes: Process, **more: str) -> list[tuple[str, ...]]:
        return subjects('single_machine', seen(*processes, **more))

    def test_service_without_standby_and_peer_is_found(self) -> None:
        alone = [('host1', 'one', A), ('host2', 'two', B)]
        self.assertEqual([('host1',), ('host2',)], self.find(*alone))
        self.assertEqual([('host2',)], self.find(*alone, owners='host2'))
        self.assertEqual([('host2',)], self.find(*alone, ('host1', 'two', A)))
        # One on an unknown machine is not known to be alone.
        alone[0] = ('host1', None, A)
        third = ('host3', 'one', A)
        self.assertEqual([('host2',)], self.find(*alone, third))
        # A deployment of one machine is left alone.
        self.assertEqual(
            [], self.find(('host1', 'one', A), ('host2', 'one', B))
        )

    def test_peer_elsewhere_takes_its_nodes(self) -> None:
        third = ('host3', 'two', A)
        for settings, machine, more, found in (
            (world.RING, 'two', [], []),
            # Both are lost with that machine.
            (world.RING, 'one', [third], [('host1', 'host2')]),
            # Without an assigner no service takes the nodes of another one.
            (world.ALL, 'two', [], [('host1',), ('host2',)]),
        ):
            pair = ('host1', 'one', settings), ('host2', machine, settings)
            self.assertEqual(found, self.find(*pair, *more))
