"""Services that reserve nodes of a real Ironic, through the real program.

Ironic stands behind a proxy that a test can make fail. After each test the
history must have kept the laws, and Ironic, the records and the reservations
have to say the same.
"""

from __future__ import annotations

import http.server
import json
import pathlib
import uuid as uuid_
from collections.abc import Callable
from typing import Any

import sqlalchemy as sa
import testtools

from ironic_ownership import wiring
from ironic_ownership.conf.configuration import new
from ironic_ownership.contracts import model
from ironic_ownership.contracts.reservations import ReservationState
from ironic_ownership.db import tables
from ironic_ownership.db.reservations import SqlReservations
from ironic_ownership.engine.membership import registration
from ironic_ownership.engine.reservations import lifecycle
from tests.functional.support import command_line, ironics, laws

Answer = tuple[int, list[tuple[str, str]], bytes]

RESERVING = model.MemberSettings(
    (model.PolicySettings.of('reservation', {'fallback': '', 'expiry': 3600}),)
)
CLASS = 'baremetal'
UNAVAILABLE: Answer = (503, [('Content-Type', 'text/html')], b'<html>')
_TRIES = 10
LONG = lifecycle.TAKE_OVER_AFTER + 1


class Gate(ironics.RecordingProxy):
    """An Ironic in front of which a test stands.

    :ivar stop_at: called with method and path of each request; what it
        returns is the answer, and ``None`` hands the request on.
    """

    def __init__(self, target: str) -> None:
        self.stop_at: Callable[[str, str], Answer | None] = lambda m, p: None
        super().__init__(target)

    def _ask(self, handler: http.server.BaseHTTPRequestHandler) -> Answer:
        path = handler.path.partition('?')[0]
        instead = self.stop_at(handler.command, path)
        if instead is not None:
            length = int(handler.headers.get('Content-Length') or 0)
            handler.rfile.read(length)
            return instead
        return super()._ask(handler)


class Service:
    """A whole service in this process that refreshes on request.

    :param config: its configuration file.
    """

    def __init__(self, config: pathlib.Path) -> None:
        self.wired = wiring.Wiring(new(['--config-file', str(config)], 'test'))
        self.host = self.wired.host()
        # One step after the other, in the one thread of the test.
        member = self.host.member
        member.registration.run_in_background = registration.run_now

    def refresh(self) -> None:
        """Beat, and refresh, as a host does again and again."""
        self.host.member.beat()
        self.host.refresh_loop.refresher.refresh()

    def close(self) -> None:
        self.wired.close()


class Reserving(testtools.TestCase):
    """Services that reserve nodes, with any kind of Ironic.

    :cvar policies: of the services.
    """

    policies = 'reservation'

    def records_url(self) -> str | None:
        """Return the URL of the records; without one they are on SQLite."""
        return None

    def prepare(self, endpoint: str) -> None:
        """Configure services and commands for an Ironic."""
        self.lab = command_line.Deployment(endpoint, self.records_url())
        self.addCleanup(self.lab.close)
        self.addCleanup(self.assert_history_is_lawful)
        self.lab.config = self.configure('rack1')
        self.reservations = SqlReservations(self.lab._database)

    def ask_ironic(self, method: str, path: str, json: Any = None) -> Any:
        """Send one request to Ironic itself."""
        raise NotImplementedError

    def configure(self, host: str, more: str = '') -> pathlib.Path:
        return self.lab.configure(
            host, host=host, policies=self.policies, more=more
        )

    def serve(self, *hosts: str) -> None:
        """Let services live that do nothing by themselves."""
        for host in hosts:
            self.lab.serve(host, RESERVING)

    def begin(self, host: str, more: str = '') -> Service:
        """Let a service live that refreshes on request."""
        service = Service(self.configure(host, more))
        self.addCleanup(service.close)
        service.refresh()
        return service

    def options(self, instance: str, host: str = 'rack1') -> list[str]:
        return [
            *('--instance', instance, '--service', host),
            *('--resource-class', CLASS, '--yes'),
        ]

    def create(
        self, instance: str, *words: str, host: str = 'rack1'
    ) -> command_line.Done:
        """Run the command that reserves a node.

        Again while it says "not finished", as a machine that starves can
        make it.
        """
        for _ in range(_TRIES):
            done = self.create_once(instance, *words, host=host)
            if done.returncode != 4:
                break
        return done

    def create_once(
        self, instance: str, *words: str, host: str = 'rack1'
    ) -> command_line.Done:
        """Run the command that reserves a node, and ignore its result."""
        return self.lab.run(
            *('reservation', 'create', *self.options(instance, host)),
            *('-f', 'json', *words),
        )

    def delete(self, key: str, *words: str) -> command_line.Done:
        """Run the command that deletes a reservation.

        Again while it says "not finished", as :meth:`create`.
        """
        for _ in range(_TRIES):
            done = self.lab.run('reservation', 'delete', key, '--yes', *words)
            if done.returncode != 4:
                break
            self.age()
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
        """Return the node of each instance, as Ironic has it."""
        found = self.ask_ironic('GET', '/nodes?fields=uuid,instance_uuid')
        return {
            node['instance_uuid']: node['uuid']
            for node in found['nodes']
            if node['instance_uuid']
        }

    def allocated(self) -> dict[str, str]:
        """Return the node of each allocation."""
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
        """Return the node of each open reservation."""
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
    """``rack1`` and ``rack2`` reserve; Ironic has four free nodes.

    :cvar count: number of nodes.
    """

    count = 4

    def setUp(self) -> None:
        super().setUp()
        self.gate = Gate(self.server.endpoint)
        self.addCleanup(self.gate.stop)
        self.nodes = self.enrolment.enrol(self.count)
        self.prepare(self.gate.url)

    def ask_ironic(self, method: str, path: str, json: Any = None) -> Any:
        return self.server.request(method, path, json=json)


def instance() -> str:
    """Return the uuid of a new instance."""
    return str(uuid_.uuid4())


def result(done: command_line.Done) -> dict[str, Any]:
    """Return what a command that succeeded has said."""
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found
