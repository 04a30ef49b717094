"""Reservations in a world that a test controls: real records, fake Ironic."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from ironic_ownership.contracts import events, exceptions, model
from ironic_ownership.contracts.reservations import (
    Allocation,
    Request,
    Reservation,
    ReservationState,
)
from ironic_ownership.db.reservations import SqlReservations
from ironic_ownership.engine.decision import policy_set
from ironic_ownership.engine.host import refresh_result
from ironic_ownership.engine.ports import Allocations, Reservations
from ironic_ownership.engine.reservations import (
    candidates,
    eligibility,
    lifecycle,
    recovery,
    reserver,
)
from tests.contract.suites import fake_allocations
from tests.unit.engine import service, world

DOWN = exceptions.IronicUnavailableError('503')
ORIGIN = events.Origin('operator@somewhere', 'req-1')
RESERVING = world.runs(all=None, reservation=None)
PENDING, ACTIVE = ReservationState.PENDING, ReservationState.ACTIVE
DELETING, CLOSED = ReservationState.DELETING, ReservationState.CLOSED


def instance(number: int = 1) -> str:
    return world.uuid(900 + number)


def node(number: int, **values: Any) -> model.Node:
    return world.node(
        number,
        **{
            'resource_class': 'gold',
            'provision_state': 'available',
            'power_state': 'power off',
            'driver': 'fake-hardware',
            **values,
        },
    )


def request(number: int = 1, **values: Any) -> Request:
    return Request.from_mapping(
        {
            'instance_uuid': instance(number),
            'service': 'host1',
            'resource_class': 'gold',
            **values,
        }
    )


class ReservingCase(service.ServiceCase):
    """A live service ``host1``, four free nodes and a ``reserver``."""

    def setUp(self) -> None:
        super().setUp()
        self.ironic.put(*map(node, range(1, 5)))
        self.made: dict[str, Allocation] = {}
        self.allocations = self.client()
        self.reservations: Reservations = SqlReservations(self.database)
        self.slept: list[float] = []
        self.host = self.start('host1', RESERVING)
        self.host.refresh()
        self.reserver = self.build()

    def client(self) -> fake_allocations.FakeAllocations:
        """Return another client of the same Ironic."""
        return fake_allocations.FakeAllocations(self.ironic.nodes, self.made)

    def build(
        self,
        allocations: Allocations | None = None,
        reservations: Reservations | None = None,
    ) -> reserver.Reserver:
        """Build the reserver of one process."""
        asked = allocations or self.allocations
        kept = reservations or self.reservations
        return reserver.Reserver(
            eligibility.ServiceReader(
                self.records,
                self.host.backend,
                world.interpret,
                self.shared.clock,
            ),
            candidates.CandidateFinder(
                self.records, lambda: self.ironic, self.shared.clock
            ),
            self.lifecycle(reservations=kept, allocations_of=lambda: asked),
        )

    def recover(
        self,
        host: service.Service | None = None,
        *,
        after: float = 0.0,
        settings: model.MemberSettings = RESERVING,
    ) -> None:
        """Refresh a service, and let it settle its reservations.

        :param after: seconds that pass before that, for the reservations.
        """
        host = host or self.host
        self.age(after)
        host.refresh()
        nodes = dict(self.ironic.nodes)
        policies = world.interpret(settings) or policy_set.PolicySet()
        self.recovery(host).recover(
            refresh_result.RefreshResult(nodes, policies)
        )

    def recovery(self, host: service.Service) -> recovery.Recovery:
        return recovery.Recovery(
            *(host.host, self.lifecycle(epoch=host.fence.epoch)),
            *(host.fence, host.conditions),
        )

    def lifecycle(self, **values: Any) -> lifecycle.Lifecycle:
        usual = {
            'reservations': self.reservations,
            'ironic_of': lambda: self.ironic,
            'allocations_of': lambda: self.allocations,
            'sleep': self.slept.append,
        }
        return lifecycle.Lifecycle(**{**usual, **values})

    def age(self, seconds: float) -> None:
        """Make the records of reservations older."""
        self.operator(
            'UPDATE reservations SET '
            f'updated_at = updated_at - {seconds}, '
            f'expires_at = expires_at - {seconds}'
        )

    def create(self, number: int = 1, **values: Any) -> Reservation:
        return self.reserver.create(request(number, **values), origin=ORIGIN)

    @staticmethod
    def before(of: object, name: str, act: Callable[[], object]) -> None:
        """Act before each call of a method."""
        method = getattr(of, name)

        def late(*args: Any, **values: Any) -> Any:
            act()
            return method(*args, **values)

        setattr(of, name, late)

    def leave_pending(self) -> None:
        """Begin a reservation that an outage of Ironic leaves unfinished."""
        self.allocations.failures['create'] = DOWN
        with self.assertRaises(exceptions.ReservationUnfinishedError):
            self.create()
        self.allocations.failures.clear()

    def allocate(self, number: int, of: int = 1, owner: str = 'host1') -> None:
        """Let Ironic hold a node that no reservation names."""
        self.allocations.create(
            instance(of),
            resource_class='gold',
            candidates=[world.uuid(number)],
            owner=owner,
        )

    def put_reserved(self, made: Reservation, **values: Any) -> None:
        """Change the node of a reservation in Ironic."""
        node = self.ironic.nodes[str(made.node_uuid)]
        self.ironic.put(dataclasses.replace(node, **values))

    def everything(self) -> list[Reservation]:
        return list(self.reservations.reservations(states=[*ReservationState]))

    def assert_reserved(self, made: Reservation) -> None:
        """See that Ironic, records and reservation say the same."""
        assert made.node_uuid is not None
        self.assertIs(ACTIVE, made.state)
        self.assertEqual(
            made.instance_uuid, self.ironic.nodes[made.node_uuid].instance_uuid
        )
        (record,) = self.records.compute_nodes_by_uuid([made.node_uuid])
        self.assertEqual(
            (made.host, made.instance_uuid),
            (record.host, record.instance_uuid),
        )

    def assert_nothing_is_held(self) -> None:
        """See that every node is free, and nothing is open on record."""
        self.assertEqual(
            [], [n for n in self.ironic.nodes.values() if n.instance_uuid]
        )
        self.assertEqual({}, self.made)
        self.assertEqual([], list(self.reservations.reservations()))
        for record in self.records.compute_nodes():
            self.assertEqual((None, None), (record.host, record.instance_uuid))

    def assert_sound(self) -> None:
        """See that everything is either reserved everywhere, or nowhere."""
        for one in self.reservations.reservations():
            self.assert_reserved(one)
        mine = {r.instance_uuid for r in self.reservations.reservations()}
        self.assertEqual(mine, set(self.made))
        owned = {
            r.instance_uuid for r in self.records.compute_nodes() if r.host
        }
        self.assertEqual(mine, owned)
