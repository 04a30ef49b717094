"""Changes of services, beyond what their operations show over HTTP."""

from __future__ import annotations

import dataclasses
import itertools
import unittest

from ironic_ownership.contracts import exceptions, model
from ironic_ownership.contracts.events import Origin
from ironic_ownership.engine.changes.services import (
    PATIENCE,
    DeleteService,
    FailOverService,
    ServiceDeletion,
    propose_settings,
)
from tests.unit.engine import service, world


class TestSetAndDeleteService(service.ServiceCase):
    def setUp(self) -> None:
        super().setUp()
        self.host = self.start('host1')

    def test_repetition_writes_nothing(self) -> None:
        for _ in range(2):
            proposed = propose_settings(
                self.records, 'host1', {'disabled': True}
            )
            proposed.execute(self.records, Origin('operator'))
        self.assertEqual([], proposed.changed)
        kinds = [event.kind for event in self.records.events()]
        self.assertEqual(1, kinds.count('service_changed'))

    def test_refused_service_is_not_deleted(self) -> None:
        before = self.state()
        operation = DeleteService(
            self.records, self.host.backend, lambda: self.fail('asked')
        )
        proposed = operation.propose('host1')
        self.assertEqual(['not_alive'], [r.gate for r in proposed.refused])
        self.assertFalse(operation.execute(proposed, Origin('operator')))
        self.assertEqual(before, self.state())


class TestServiceGates(unittest.TestCase):
    def test_every_failed_gate_is_named(self) -> None:
        free, used = (
            [world.record(1, 'host1', instance)] for instance in (None, 'i')
        )
        others, alive = (
            model.View.of([world.member(host)]) for host in ('host2', 'host1')
        )
        # Unknown liveness counts as alive.
        for nodes, view in itertools.product(
            ([], free, used), (model.View(), others, alive, None)
        ):
            expected = [
                *(['no_compute_nodes'] if nodes else []),
                *(['no_instances'] if nodes is used else []),
                *(['not_alive'] if view in (alive, None) else []),
            ]
            refused = ServiceDeletion('host1', nodes, view).refused
            self.assertEqual(expected, [r.gate for r in refused])

    def test_everything_that_remains_is_named_in_order(self) -> None:
        nodes = [world.record(n, 'host1', f'i{n}') for n in range(9, 0, -1)]
        node_gate, instance_gate, _ = ServiceDeletion(
            'host1', nodes, model.View()
        ).gates
        numbers = range(1, 10)
        self.assertEqual(tuple(map(world.uuid, numbers)), node_gate.remaining)
        self.assertEqual(
            tuple(f'i{n}' for n in numbers), instance_gate.remaining
        )


class TestFailOverService(service.ServiceCase):
    """``host1`` is active, with one process standing by."""

    def setUp(self) -> None:
        super().setUp()
        self.active = self.start('host1')
        self.standby = self.start('host1')
        (row,) = self.records.services()
        incarnations = self.active.backend.view().incarnations('host1')
        (self.target,) = incarnations - {row.incarnation}
        self.slept = 0.0
        self.operation = FailOverService(
            self.records,
            self.active.backend,
            clock=lambda: self.slept,
            sleep=self.sleep,
        )

    def sleep(self, seconds: float) -> None:
        self.slept += seconds
        if self.slept < 1:
            self.standby.beat()

    def refusals(self, wanted: str | None = None) -> list[str]:
        before = self.state()
        proposed = self.operation.propose('HOST1', wanted)
        self.assertIs(
            proposed, self.operation.execute(proposed, Origin('operator'))
        )
        self.assertFalse(proposed.done)
        self.assertEqual(before, self.state())
        return [f'{r.gate}: {r.detail}' for r in proposed.refused]

    def test_standby_becomes_active(self) -> None:
        proposed = self.operation.propose('host1', self.target[:6])
        done = self.operation.execute(proposed, Origin('operator'))
        self.assertTrue(done.done)
        self.assertEqual(self.target, done.after.incarnation)

    def test_standby_that_does_not_register_is_not_waited_for(self) -> None:
        proposed = self.operation.propose('host1')
        self.slept = 1.0
        done = self.operation.execute(proposed, Origin('operator'))
        self.assertFalse(done.done)
        self.assertTrue(done.after.fenced)
        self.assertLessEqual(PATIENCE, self.slept - 1.0)

    def test_service_that_is_deleted_meanwhile_is_not_known(self) -> None:
        def delete(seconds: float) -> None:
            self.records.delete_service('host1', actor='another')

        proposed = self.operation.propose('host1')
        operation = dataclasses.replace(self.operation, sleep=delete)
        with self.assertRaises(exceptions.NotFoundError):
            operation.execute(proposed, Origin('operator'))

    def test_target_has_to_be_one_live_standby(self) -> None:
        listed = f'not a live standby of host1; these are: {self.target}'
        self.assertEqual(
            [f'standby_alive: other is {listed}'], self.refusals('other')
        )
        self.start('host1')
        two = 'standby_alive: 2 processes could take over: '
        self.assertIn(two, str(self.refusals()))
        for wanted in (self.target, self.target[:6]):
            proposed = self.operation.propose('host1', wanted)
            self.assertEqual([], proposed.refused)
            self.assertEqual(self.target, proposed.target)
        several = dataclasses.replace(
            proposed, standbys=['ab', 'ac', 'b'], wanted='a'
        )
        (refused,) = several.refused
        self.assertIn('2 processes could take over: ab, ac', refused.detail)

    def test_without_a_standby_it_is_refused(self) -> None:
        self.standby.backend.leave()
        self.assertEqual(
            ['standby_alive: no process stands by for host1'], self.refusals()
        )
