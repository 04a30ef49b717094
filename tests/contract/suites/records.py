"""The base of the suites that every implementation of the records passes.

Usage::

    class TestClaims(record_claims.ClaimContract):
        def make_records(self):
            return MyRecords(...)

What else a suite needs, such as other ports and a clock, is in the builders of
``tests.contract.database``.
"""

from __future__ import annotations

import dataclasses
import unittest
from typing import Any

from ironic_ownership.contracts import exceptions, model, reasons
from ironic_ownership.contracts.events import EventFilter
from ironic_ownership.contracts.records import Change, Claim, Outcome
from ironic_ownership.engine.ports import Records

SETTINGS = model.MemberSettings(
    (model.PolicySettings.of('shard_key', {'shard_key': 'Rack-1 é'}),)
)
_OF_CLAIM = {field.name for field in dataclasses.fields(Claim)} - {'node'}


def uuid(number: int) -> str:
    """Return the uuid of a test's node."""
    return f'00000000-0000-0000-0000-{number:012d}'


def node(number: int, **values: Any) -> model.Node:
    """Return a node of a test."""
    return model.Node(
        uuid(number),
        **{'name': f'node-{number}', 'driver': 'fake-hardware', **values},
    )


def claim(number: int, **values: Any) -> Claim:
    """Return the claim of an unowned node, changed by ``values``."""
    own = {name: values.pop(name) for name in _OF_CLAIM & values.keys()}
    own = {'reason': reasons.Reason.EXCLUSIVE, **own}
    return Claim(node(number, **values), **own)


class RecordsContract(unittest.TestCase):
    """Builds the records of a test, changes them and asks about them.

    :ivar epochs: of the last registrations, by host.
    """

    def make_records(self) -> Records:
        """Return another access to this test's records."""
        raise NotImplementedError

    def setUp(self) -> None:
        super().setUp()
        self.epochs: dict[str, int] = {}
        self.records = self.build()

    def build(self) -> Records:
        """Build an access and have it closed after the test."""
        made = self.make_records()
        self.addCleanup(made.close)
        return made

    def register(self, host: str, **options: Any) -> int:
        """Register a host and return its epoch."""
        epoch = self.records.register(host, SETTINGS, **options)
        self.epochs[host] = epoch
        return epoch

    def apply(self, host: str, epoch: int, *changes: Change) -> Outcome:
        """Apply changes and check that each got one answer."""
        outcome = self.records.apply(host, epoch, changes)
        self.assertEqual(
            sorted(changes, key=repr),
            sorted(outcome.applied + outcome.refused, key=repr),
        )
        return outcome

    def assert_applied(self, host: str, epoch: int, *changes: Change) -> None:
        """Apply changes none of which may be refused."""
        self.assertEqual((), self.apply(host, epoch, *changes).refused)

    def assert_refused(self, host: str, epoch: int, *changes: Change) -> None:
        """Apply changes all of which have to be refused without a trace."""
        before = self.state()
        self.assertEqual((), self.apply(host, epoch, *changes).applied)
        self.assertEqual(before, self.state())

    def applied(self, host: str, *changes: Change) -> None:
        """Apply changes under the epoch of the last registration."""
        self.assert_applied(host, self.epochs[host], *changes)

    def refused(self, host: str, *changes: Change) -> None:
        """Have changes refused under the epoch of the last registration."""
        self.assert_refused(host, self.epochs[host], *changes)

    def take(self, number: int, host: str = 'host1', **values: Any) -> Claim:
        """Return the claim of a node from the service that owned it."""
        seen = {'seen_host': host, 'seen_epoch': self.epochs[host]}
        return claim(number, **{**seen, **values})

    def assert_fenced(self, host: str, *epochs: int) -> None:
        """Check that a process with one of these epochs writes nothing."""
        before = self.state()
        status = {'view_checksum': 'x', 'config_error': None}
        for epoch in epochs:
            for write, values in (
                (self.records.apply, {'changes': [claim(7)]}),
                (self.records.apply, {'changes': []}),
                (self.records.advertise, {'settings': model.MemberSettings()}),
                (self.records.report, status),
            ):
                with (
                    self.subTest(epoch=epoch, values=values),
                    self.assertRaises(exceptions.FencedError),
                ):
                    write(host, epoch, **values)
        self.assertEqual(before, self.state())

    def state(self) -> tuple[object, ...]:
        """Return all that the records hold."""
        nodes = sorted(self.records.compute_nodes(), key=lambda n: n.uuid)
        return (
            tuple(self.records.services()),
            tuple(nodes),
            tuple(self.records.events(limit=10000)),
        )

    def find(self, number: int) -> model.ComputeNode | None:
        """Return the record of a node."""
        found = self.records.compute_nodes_by_uuid([uuid(number)])
        return found[0] if found else None

    def record(self, number: int) -> model.ComputeNode:
        """Return the record of a node that has one."""
        found = self.find(number)
        assert found is not None
        return found

    def owner(self, number: int) -> str | None:
        """Return the owner of a node that has a record."""
        return self.record(number).host

    def instance(self, number: int) -> str | None:
        """Return the recorded instance of a node that has a record."""
        return self.record(number).instance_uuid

    def service(self, host: str) -> model.Service:
        """Return a service that is registered."""
        return next(s for s in self.records.services() if s.host == host)

    def events(self, *kinds: str, **chosen: Any) -> list[model.Event]:
        """Return the events of some kinds, newest first."""
        found = self.records.events(EventFilter(kinds=kinds, **chosen))
        return list(found)

    def kinds(self, number: int) -> list[str]:
        """Return the kinds of a node's events, oldest first."""
        found = self.events(node_uuid=uuid(number))
        return [event.kind for event in found][::-1]

    def assert_has(self, found: object, **expected: object) -> None:
        """Compare some attributes."""
        seen = {name: getattr(found, name) for name in expected}
        self.assertEqual(expected, seen)

    def assert_event(
        self, number: int | None = None, **expected: object
    ) -> None:
        """Compare attributes of the last event, or the last of a node."""
        node_uuid = None if number is None else uuid(number)
        self.assert_has(self.events(node_uuid=node_uuid)[0], **expected)
