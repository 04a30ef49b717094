"""The base of the suites that every implementation of the records passes.

The suites are ``record_services``, ``record_processes``,
``record_absences``, ``record_claims``, ``record_instances``,
``record_changes``, ``record_availability``, ``record_operators``,
``record_conditions``, ``record_pauses``, ``record_queries`` and
``record_events``. Usage::

    class TestClaims(record_claims.ClaimContract):
        def make_records(self):
            return MyRecords(...)
"""

from __future__ import annotations

import unittest
from typing import Any

from ironic_ownership.contracts import model, reasons
from ironic_ownership.contracts.events import EventFilter
from ironic_ownership.contracts.records import Change, Claim, Outcome
from ironic_ownership.engine.ports import Records

SETTINGS = model.MemberSettings(
    (model.PolicySettings.of('shard_key', {'shard_key': 'Rack-1 é'}),)
)


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
    seen = {
        name: values.pop(name)
        for name in ('seen_host', 'seen_epoch', 'cause')
        if name in values
    }
    reason = values.pop('reason', reasons.Reason.EXCLUSIVE)
    return Claim(node(number, **values), reason, **seen)


class RecordsContract(unittest.TestCase):
    """Builds the records of a test, changes them and asks about them."""

    def make_records(self) -> Records:
        """Return another access to this test's records."""
        raise NotImplementedError

    def setUp(self) -> None:
        super().setUp()
        self.records = self.build()

    def build(self) -> Records:
        """Build an access and have it closed after the test."""
        made = self.make_records()
        self.addCleanup(made.close)
        return made

    def register(self, host: str) -> int:
        """Register a host and return its epoch."""
        return self.records.register(host, SETTINGS)

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

    def owner(self, number: int) -> str | None:
        """Return the owner of a node that has a record."""
        found = self.find(number)
        assert found is not None
        return found.host

    def instance(self, number: int) -> str | None:
        """Return the recorded instance of a node that has a record."""
        found = self.find(number)
        assert found is not None
        return found.instance_uuid

    def service(self, host: str) -> model.Service:
        """Return a service that is registered."""
        return next(s for s in self.records.services() if s.host == host)

    def kinds(self, number: int) -> list[str]:
        """Return the kinds of a node's events, oldest first."""
        found = self.records.events(EventFilter(node_uuid=uuid(number)))
        return [event.kind for event in found][::-1]
