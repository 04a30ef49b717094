"""Reservations, in states to which a real Ironic cannot be brought.

Everything else is in tests/functional/test_allocations.py.
"""

from __future__ import annotations

import json
import unittest
from typing import Any
from unittest import mock

from ironic_ownership.clients.ironic import allocations
from ironic_ownership.clients.ironic.allocations import (
    IronicAllocations,
    open_allocations,
)
from ironic_ownership.contracts import exceptions, reservations
from tests.unit.clients import recorded_http

INSTANCE, NODE = recorded_http.uuid(1), recorded_http.uuid(2)
OURS = {reservations.MARKER: 'one'}


def allocation(**values: Any) -> dict[str, Any]:
    return {
        'uuid': INSTANCE,
        'node_uuid': NODE,
        'state': 'active',
        'last_error': None,
        'extra': OURS,
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
        self.client = self.open()
        with self.assertRaises(exceptions.IronicError):
            self.client.get(INSTANCE)

    def open(self) -> IronicAllocations:
        conf = recorded_http.configuration(
            auth_type='none', endpoint_override=self.ironic.url
        )
        return open_allocations(conf)

    def answer(self, answer: recorded_http.Answer) -> None:
        self.ironic.everything = lambda: answer

    def write(self, *answers: recorded_http.Answer) -> None:
        left = list(answers)

        def writes(method: str, path: str) -> recorded_http.Answer:
            self.written.append((method, path))
            return left.pop(0)

        self.ironic.writes = writes

    def create(self) -> reservations.Allocation:
        return self.client.create(
            INSTANCE, resource_class='gold', candidates=[NODE], owner='one'
        )

    def test_404_of_a_proxy_is_never_a_missing_reservation(self) -> None:
        for answer in (
            recorded_http.page('<html>not found</html>', 404),
            recorded_http.fault(404, 'Not Found'),
        ):
            self.answer(answer)
            with self.assertRaises(exceptions.IronicError):
                self.client.get(INSTANCE)
            with self.assertRaises(exceptions.IronicError):
                self.client.delete(INSTANCE)

    def test_odd_answers_are_errors(self) -> None:
        # A page without a place for the next one, too.
        pages = [
            {'allocations': [item], 'nodes': [item], 'next': 'x'}
            for item in (7, {}, {'uuid': None})
        ]
        for read, bodies in (
            (
                lambda: self.client.mine('one'),
                ({}, {'allocations': 1, 'nodes': {}}, [], 'x', *pages),
            ),
            (
                lambda: self.client.get(INSTANCE),
                ({}, {'uuid': 'x'}, allocation(state='resting')),
            ),
        ):
            for body in bodies:
                self.answer(signed(200, body))
                with self.assertRaises(exceptions.IronicError):
                    read()

    def test_mark_that_is_no_text_is_not_ours(self) -> None:
        for extra in (None, [], {}, {reservations.MARKER: ['one']}):
            self.answer(signed(200, allocation(extra=extra)))
            found = self.client.get(INSTANCE)
            assert found is not None
            self.assertIsNone(found.owner)

    def test_conflict_of_a_proxy_is_an_error_and_no_answer(self) -> None:
        self.write(*[recorded_http.page('<html>conflict</html>', 409)] * 20)
        self.answer(recorded_http.fault(404, f'{INSTANCE} could not be found'))
        with self.assertRaises(exceptions.IronicError) as caught:
            self.create()
        self.assertNotIsInstance(
            caught.exception,
            exceptions.AllocationConflictError
            | exceptions.AllocationInUseError,
        )
        self.assertEqual([('POST', '/v1/allocations')], self.written)

    def test_allocation_that_never_settles_stays_allocating(self) -> None:
        started = allocation(state='allocating', node_uuid=None)
        self.write(signed(201, started))
        self.answer(signed(200, started))
        with mock.patch.object(allocations, 'SETTLING', 0.0):
            made = self.create()
        self.assertIs(reservations.AllocationState.ALLOCATING, made.state)

    def test_failure_of_ironic_itself_is_not_about_the_nodes(self) -> None:
        failed = allocation(
            state='error',
            node_uuid=None,
            last_error='Unexpected exception during allocation: (sqlite3.Op',
        )
        self.write(signed(201, failed), (204, {}, b''))
        self.answer(signed(200, failed))
        with self.assertRaises(exceptions.IronicUnavailableError):
            self.create()
        self.assertEqual(
            [
                ('POST', '/v1/allocations'),
                ('DELETE', f'/v1/allocations/{INSTANCE}'),
            ],
            self.written,
        )

    def test_allocation_that_comes_and_goes_is_asked_for_again_later(
        self,
    ) -> None:
        conflict = recorded_http.fault(409, f'{INSTANCE} already exists')
        self.write(*[conflict] * 20)
        self.answer(recorded_http.fault(404, f'{INSTANCE} could not be found'))
        with self.assertRaises(exceptions.IronicUnavailableError):
            self.create()

    def test_user_without_the_right_to_write_gets_its_name(self) -> None:
        self.write(recorded_http.fault(403, 'Forbidden'))
        with self.assertRaises(exceptions.IronicError) as caught:
            self.create()
        self.assertIn('member', caught.exception.hint)

    def test_lock_on_the_node_keeps_the_allocation(self) -> None:
        self.answer(signed(200, allocation()))
        self.write(recorded_http.fault(409, f'Node {NODE} is locked'))
        with self.assertRaises(exceptions.AllocationInUseError):
            self.client.delete(INSTANCE)
