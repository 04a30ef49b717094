"""Decision about one request, from what the records say."""

from __future__ import annotations

import unittest

from ironic_ownership.contracts.request_header import Claim
from ironic_ownership_middleware import decision
from ironic_ownership_middleware.decision import NodeRow, Refusal, ServiceRow

CLAIM = Claim('host1', 7)
CURRENT = ServiceRow(7, False, False)
A = NodeRow('uuid-a', 'a', 'host1')
B = NodeRow('uuid-b', 'b', 'host2')
FREE = NodeRow('uuid-c', 'c', None)


def decide(
    *idents: str,
    service: ServiceRow | None = CURRENT,
    nodes: tuple[NodeRow, ...] = (A,),
) -> Refusal | None:
    return decision.decide(CLAIM, idents, service, nodes)


class DecisionTest(unittest.TestCase):
    def refused(self, code: str, found: Refusal | None) -> Refusal:
        assert found is not None
        self.assertEqual(code, found.code)
        self.assertEqual(409, found.status)
        self.assertTrue(found.hint)
        return found

    def test_owner_under_its_current_epoch_is_admitted(self) -> None:
        self.assertIsNone(decide('uuid-a'))
        self.assertIsNone(decide('a'))
        self.assertIsNone(decide(nodes=()))

    def test_ended_epoch_is_refused(self) -> None:
        for service in (
            ServiceRow(8, False, False),
            ServiceRow(6, False, False),
            ServiceRow(7, True, False),
            None,
        ):
            self.refused('fenced', decide('uuid-a', service=service))
            self.refused('fenced', decide(service=service, nodes=()))

    def test_forced_down_is_refused(self) -> None:
        for fenced in (False, True):
            found = decide('uuid-a', service=ServiceRow(7, fenced, True))
            refusal = self.refused('forced_down', found)
            self.assertIn('service set host1 --up', refusal.hint)

    def test_refusal_names_the_owner_and_the_way_out(self) -> None:
        refusal = self.refused('not_owner', decide('uuid-b', nodes=(B,)))
        self.assertEqual('host2', refusal.owner)
        self.assertIn('host2', refusal.message)
        self.assertIn('compute node move uuid-b', refusal.hint)
        unowned = self.refused('not_owner', decide('c', nodes=(FREE,)))
        self.assertIsNone(unowned.owner)
        self.assertIn('unowned', unowned.message)

    def test_every_node_that_is_named_has_to_be_owned(self) -> None:
        self.refused('not_owner', decide('uuid-a', 'b', nodes=(A, B)))
        # Two records have the name: one of them is out of date.
        twin = NodeRow('uuid-d', 'a', 'host2')
        self.refused('not_owner', decide('a', nodes=(A, twin)))

    def test_node_without_a_record_is_refused(self) -> None:
        self.refused('not_found', decide('uuid-x', nodes=()))
        self.refused('not_found', decide('uuid-a', 'x'))
