"""Services that reserve nodes of a real Ironic, through the real program.

After each test the history must have kept the laws, and Ironic, the records
and the reservations have to say the same.
"""

from __future__ import annotations

import json
import uuid as uuid_
from collections.abc import Callable
from typing import Any

import sqlalchemy as sa
import testtools

from ironic_ownership.contracts import model
from ironic_ownership.contracts.reservations import ReservationState
from ironic_ownership.db import tables
from ironic_ownership.db.reservations import SqlReservations
from ironic_ownership.engine.reservations import lifecycle
from tests.functional.support import command_line, ironics, laws

RESERVING = model.MemberSettings(
    (model.PolicySettings.of('reservation', {'fallback': '', 'expiry': 3600}),)
)
CLASS = 'baremetal'
_TRIES = 10
LONG = lifecycle.TAKE_OVER_AFTER + 1


class Reserving(testtools.TestCase):
    """Services that reserve nodes, with any kind of Ironic."""

    def prepare(self, endpoint: str) -> None:
        """Configure services and commands for an Ironic."""
        self.lab = command_line.Deployment(endpoint)
        self.addCleanup(self.lab.close)
        self.addCleanup(self.assert_history_is_lawful)
        self.lab.config = self.lab.configure(
            'rack1', host='rack1', policies='reservation'
        )
        self.reservations = SqlReservations(self.lab._database)

    def ask_ironic(self, method: str, path: str, json: Any = None) -> Any:
        raise NotImplementedError

    def serve(self, *hosts: str) -> None:
        """Let services live that do nothing by themselves."""
        for host in hosts:
            self.lab.serve(host, RESERVING)

    def options(self, instance: str, host: str = 'rack1') -> list[str]:
        return [
            *('--instance', instance, '--service', host),
            *('--resource-class', CLASS, '--yes'),
        ]

    def create(
        self, instance: str, *words: str, host: str = 'rack1'
    ) -> command_line.Done:
        return self._repeat(
            lambda: None,
            *('create', *self.options(instance, host), '-f', 'json', *words),
        )

    def delete(self, key: str, *words: str) -> command_line.Done:
        return self._repeat(self.age, 'delete', key, '--yes', *words)

    def _repeat(
        self, before: Callable[[], None], *words: str
    ) -> command_line.Done:
        """Run a command again while it says "not finished".

        A machine that starves can make it so.
        """
        for _ in range(_TRIES):
            done = self.lab.run('reservation', *words)
            if done.returncode != 4:
                break
            before()
        return done

    def age(self, seconds: float = LONG) -> None:
        """Let time pass for what is on record of reservations."""
        columns = tables.reservations.c
        statement = sa.update(tables.reservations).values(
            updated_at=columns.updated_at - seconds,
            expires_at=columns.expires_at - seconds,
        )
        self.lab._database.write(lambda conn: conn.execute(statement))

    def held_by_ironic(self) -> dict[str, str]:
        found = self.ask_ironic('GET', '/nodes?fields=uuid,instance_uuid')
        return {
            node['instance_uuid']: node['uuid']
            for node in found['nodes']
            if node['instance_uuid']
        }

    def allocated(self) -> dict[str, str]:
        found = self.ask_ironic('GET', '/allocations')
        return {one['uuid']: one['node_uuid'] for one in found['allocations']}

    def owned(self) -> dict[str, str]:
        """Return the node of each instance on record, as it is owned."""
        return {
            str(record.instance_uuid): record.uuid
            for record in self.lab.records.compute_nodes()
            if record.host is not None
        }

    def active(self) -> dict[str, str]:
        return {
            one.instance_uuid: str(one.node_uuid)
            for one in self.reservations.reservations()
        }

    def assert_sound(self) -> None:
        """See that all stores agree, and nothing is unfinished."""
        held = self.held_by_ironic()
        self.assertEqual(held, self.allocated())
        self.assertEqual(held, self.owned())
        self.assertEqual(held, self.active())
        for one in self.reservations.reservations():
            self.assertIs(ReservationState.ACTIVE, one.state)

    def assert_history_is_lawful(self) -> None:
        self.assertEqual([], laws.violations(self.lab.records))


class ReservingTestCase(Reserving, ironics.IronicTestCase):
    """``rack1`` and ``rack2`` reserve; Ironic has four free nodes."""

    def setUp(self) -> None:
        super().setUp()
        self.nodes = self.enrolment.enrol(4)
        self.prepare(self.server.endpoint)

    def ask_ironic(self, method: str, path: str, json: Any = None) -> Any:
        return self.server.request(method, path, json=json)


def instance() -> str:
    return str(uuid_.uuid4())


def result(done: command_line.Done) -> dict[str, Any]:
    """Return what a command that succeeded has said."""
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found
