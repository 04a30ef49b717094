"""A real Ironic for the allocation clients, behind a proxy that can fail."""

from __future__ import annotations

from typing import Any

from ironic_ownership.clients import options
from ironic_ownership.contracts import exceptions
from ironic_ownership.engine.ports import Allocations
from lab.http_server import Answer, Request
from tests.contract.suites import allocations
from tests.functional.support import ironics
from tests.unit.clients import recorded_http

BROKEN: Answer = (0, [], b'')
UNAVAILABLE: Answer = (503, [('Content-Type', 'text/html')], b'<html>')


class FaultyProxy(ironics.RecordingProxy):
    """An Ironic with failures on request.

    :ivar answers: by method: what to answer instead, in turn; ``None`` hands
        the request on. After it was done, if ``late`` is set.
    """

    def __init__(self, target: str) -> None:
        self.answers: dict[str, list[Answer | None]] = {}
        self.late = False
        self.asked: list[tuple[str, str]] = []
        super().__init__(target)

    def _ask(self, request: Request) -> Answer:
        self.asked.append((request.method, request.path.partition('?')[0]))
        turns = self.answers.get(request.method)
        instead = turns.pop(0) if turns else None
        if instead is not None and not self.late:
            return instead
        answer = super()._ask(request)
        if instead is BROKEN:
            raise ConnectionError
        return instead or answer


class AllocatingCase(allocations.AllocationsContract, ironics.IronicTestCase):
    """A real Ironic; its nodes are changed through its API or its database."""

    def setUp(self) -> None:
        super().setUp()
        self.proxy = FaultyProxy(self.server.endpoint)
        self.addCleanup(self.proxy.stop)
        self.client = self.another()

    def another(self) -> Allocations:
        """Open what reserves nodes as the programs do."""
        configured = recorded_http.configuration(
            auth_type='none', endpoint_override=self.proxy.url
        )
        return options.open_allocations(configured)

    def set(self, column: str, value: str, uuid: str) -> None:
        with self.server.sql() as database:
            database.execute(
                f'UPDATE nodes SET {column} = ? WHERE uuid = ?', (value, uuid)
            )

    def enrol(self, count=1, *, resource_class=allocations.GOLD, traits=()):
        uuids = self.enrolment.enrol(count)
        for uuid in uuids:
            self.set('resource_class', resource_class, uuid)
            for trait in traits:
                self.server.request('PUT', f'/nodes/{uuid}/traits/{trait}')
        return uuids

    def remove(self, uuid: str) -> None:
        self.enrolment.delete(uuid)

    def instance_of(self, uuid: str) -> Any:
        return self.server.request('GET', f'/nodes/{uuid}')['instance_uuid']

    def set_maintenance(self, uuid: str) -> None:
        self.enrolment.set_maintenance(uuid, True)

    def deploy(self, uuid: str) -> None:
        self.set('provision_state', 'active', uuid)

    def make_unavailable(self) -> None:
        self.addCleanup(self.server.start)
        self.server.kill()

    def fail(self, method: str, *answers: Answer | None) -> None:
        self.proxy.answers[method] = list(answers)

    def test_wrong_texts_for_uuids_are_refused_without_a_request(self) -> None:
        for ask in (self.client.get, self.client.delete):
            for text in ('', '..', '../nodes', 'a/b'):
                self.assertRaises(exceptions.IronicError, ask, text)
        self.assertLessEqual(set(self.proxy.asked), {('GET', '/')})

    def test_answer_of_503_is_no_answer_and_the_next_call_finds_out(
        self,
    ) -> None:
        [uuid] = self.enrol()
        one = allocations.instance()
        for late in (False, True):
            self.proxy.late = late
            self.fail('POST', UNAVAILABLE)
            self.assertRaises(
                exceptions.IronicUnavailableError,
                self.client.create,
                one,
                resource_class=allocations.GOLD,
                candidates=[uuid],
                owner='one',
            )
        self.assertEqual(uuid, self._create(one, [uuid]).node_uuid)
