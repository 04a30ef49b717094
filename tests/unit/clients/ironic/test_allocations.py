"""Reservations, in states to which a real Ironic cannot be brought.

Everything else is in tests/functional/test_allocations.py.
"""

from __future__ import annotations

import json
import unittest
from typing import Any
from unittest import mock

from ironic_ownership.clients import options
from ironic_ownership.clients.ironic import allocations
from ironic_ownership.contracts import exceptions
from ironic_ownership.contracts.reservations import (
    MARKER,
    Allocation,
    AllocationState,
)
from tests.unit.clients import recorded_http
from tests.unit.clients.recorded_http import fault, page

INSTANCE, NODE = recorded_http.uuid(1), recorded_http.uuid(2)
MISSING = fault(404, f'{INSTANCE} could not be found')
CREATED = 'POST', '/v1/allocations'
DELETED = 'DELETE', f'/v1/allocations/{INSTANCE}'


def allocation(**values: Any) -> dict[str, Any]:
    return {
        'uuid': INSTANCE,
        'node_uuid': NODE,
        'state': 'active',
        'last_error': None,
        'extra': {MARKER: 'one'},
        **values,
    }


def signed(status: int, body: object) -> recorded_http.Answer:
    headers = {'X-OpenStack-Ironic-API-Version': '1.82'}
    return status, headers, json.dumps(body).encode()


class AllocationsTest(unittest.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.ironic = recorded_http.PlayedIronic()
        self.addCleanup(self.ironic.stop)
        self.written: list[tuple[str, str]] = []
        conf = recorded_http.configuration(
            auth_type='none', endpoint_override=self.ironic.url
        )
        self.client = options.open_allocations(conf)
        with self.assertRaises(exceptions.IronicError):
            self.client.get(INSTANCE)

    def answer(
        self, answer: recorded_http.Answer, *writes: recorded_http.Answer
    ) -> None:
        """Answer to each read, and to the writes in turn."""
        left = list(writes)

        def written(method: str, path: str) -> recorded_http.Answer:
            self.written.append((method, path))
            return left.pop(0)

        self.ironic.everything = lambda: answer
        self.ironic.writes = written

    def create(self) -> Allocation:
        return self.client.create(
            INSTANCE, resource_class='gold', candidates=[NODE], owner='one'
        )

    def fails(self, call: Any, *arguments: str) -> exceptions.OwnershipError:
        with self.assertRaises(exceptions.IronicError) as caught:
            call(*arguments)
        return caught.exception

    def test_404_of_a_proxy_is_never_a_missing_reservation(self) -> None:
        for answer in (
            page('<html>not found</html>', 404),
            fault(404, 'Not Found'),
        ):
            self.answer(answer)
            self.fails(self.client.get, INSTANCE)
            self.fails(self.client.delete, INSTANCE)

    def test_odd_answers_are_errors(self) -> None:
        # A page without a place for the next one, too.
        pages = [
            {'allocations': [item], 'nodes': [item], 'next': 'x'}
            for item in (7, {}, {'uuid': None})
        ]
        wrong = {'allocations': 1, 'nodes': {}}
        for read, argument, bodies in (
            (self.client.mine, 'one', ({}, wrong, [], 'x', *pages)),
            (
                self.client.get,
                INSTANCE,
                ({}, {'uuid': 'x'}, allocation(state='resting')),
            ),
        ):
            for body in bodies:
                self.answer(signed(200, body))
                self.fails(read, argument)

    def test_mark_that_is_no_text_is_not_ours(self) -> None:
        for extra in (None, [], {}, {MARKER: ['one']}):
            self.answer(signed(200, allocation(extra=extra)))
            found = self.client.get(INSTANCE)
            assert found is not None
            self.assertIsNone(found.owner)

    def test_conflict_of_a_proxy_is_an_error_and_no_answer(self) -> None:
        self.answer(MISSING, page('<html>conflict</html>', 409))
        error = self.fails(self.create)
        for kind in (
            exceptions.AllocationConflictError,
            exceptions.AllocationInUseError,
        ):
            self.assertNotIsInstance(error, kind)
        self.assertEqual([CREATED], self.written)

    def test_allocation_that_never_settles_stays_allocating(self) -> None:
        started = allocation(state='allocating', node_uuid=None)
        self.answer(signed(200, started), signed(201, started))
        with mock.patch.object(allocations, 'SETTLING', 0.0):
            self.assertIs(AllocationState.ALLOCATING, self.create().state)

    def test_failure_of_ironic_itself_is_not_about_the_nodes(self) -> None:
        failed = allocation(
            state='error',
            node_uuid=None,
            last_error='Unexpected exception during allocation: (sqlite3.Op',
        )
        self.answer(signed(200, failed), signed(201, failed), (204, {}, b''))
        with self.assertRaises(exceptions.IronicUnavailableError):
            self.create()
        self.assertEqual([CREATED, DELETED], self.written)

    def test_allocation_that_comes_and_goes_is_asked_for_again_later(
        self,
    ) -> None:
        conflict = fault(409, f'{INSTANCE} already exists')
        self.answer(MISSING, *[conflict] * 20)
        with self.assertRaises(exceptions.IronicUnavailableError):
            self.create()

    def test_user_without_the_right_to_write_gets_its_name(self) -> None:
        self.answer(MISSING, fault(403, 'Forbidden'))
        self.assertIn('member', self.fails(self.create).hint)

    def test_lock_on_the_node_keeps_the_allocation(self) -> None:
        locked = fault(409, f'Node {NODE} is locked')
        self.answer(signed(200, allocation()), locked)
        with self.assertRaises(exceptions.AllocationInUseError):
            self.client.delete(INSTANCE)
