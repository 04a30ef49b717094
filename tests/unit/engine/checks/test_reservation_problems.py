from __future__ import annotations

import dataclasses

from ironic_ownership.contracts import reservations
from ironic_ownership.engine.checks import problem
from tests.contract.suites import reservations as samples
from tests.unit.engine.checks import test_runner

CODE = 'reservation_left'
State = reservations.ReservationState


class TestReservations(test_runner.CheckCase):
    """The host1 of the reservations is dead, unless a test says else."""

    def setUp(self) -> None:
        super().setUp()
        self.alive = self.members
        self.members = self.members[1:]
        self.states(State.PENDING)

    def states(self, *states: State, **values) -> None:
        self.reservations = [
            samples.wanted(number, state=state, **values)
            for number, state in enumerate(states, 1)
        ]

    def test_unfinished_reservations_of_a_dead_service_are_named(self) -> None:
        self.states(State.PENDING, State.DELETING)
        one, two = self.reservations
        found = self.assert_found(CODE, one.id, two.id)
        self.assertIs(problem.Severity.WARNING, found.severity)
        self.assertIs(problem.Kind.RESERVATION, found.kind)
        self.assertEqual(('host1',), found.services)
        self.assertIn('2 reservations', found.what)
        self.assertIn('reservation delete', found.hint)
        self.reservations.append(dataclasses.replace(one, host='host3'))
        services = [p.services for p in self.check() if p.code == CODE]
        self.assertEqual([('host1',), ('host3',)], services)
        # One that would expire is named with it.
        self.states(State.ACTIVE, expires_at=1.0)
        self.assertIn('1 reservation ', self.found(CODE).what)

    def test_service_that_is_forced_down_settles_none(self) -> None:
        self.members = self.alive
        self.row('host1', forced_down=True)
        found = self.found(CODE)
        self.assertIn('which is forced down', found.what)
        self.assertIn('service set host1 --up', found.hint)
        self.states(State.CLOSED)
        self.assertNotIn(CODE, self.codes())

    def test_one_that_is_or_will_be_settled_is_no_problem(self) -> None:
        self.states(State.ACTIVE, State.CLOSED)
        self.assertNotIn(CODE, self.codes())
        self.states(State.ACTIVE, expires_at=1.0, confirmed=True)
        self.assertNotIn(CODE, self.codes())
        # By its service that is expected back, or alive.
        self.states(State.PENDING)
        self.row('host1', away=True)
        self.assertNotIn(CODE, self.codes())
        self.row('host1', away=False)
        self.members = self.alive
        self.assertNotIn(CODE, self.codes())
