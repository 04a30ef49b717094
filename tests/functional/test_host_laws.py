"""The law checker of the other host tests, tested on forged histories."""

from __future__ import annotations

import unittest

import sqlalchemy as sa

from ironic_ownership.contracts import model, reasons
from ironic_ownership.contracts.records import Claim
from ironic_ownership.db import connection, records, schema, tables
from tests.functional.support import databases, laws

NODE = model.Node('00000000-0000-0000-0000-000000000001')
DEPLOYED = model.Node(
    '00000000-0000-0000-0000-000000000002', instance_uuid='i1'
)
FREE, TAKEN = {'node_uuid': NODE.uuid}, {'node_uuid': DEPLOYED.uuid}
NEW = {'node_uuid': 'new', 'to_host': 'host1'}
BY_OPERATOR = {'actor': 'root@somewhere'}
SHARING = model.MemberSettings(
    (model.PolicySettings.of('peer_list', {'peer_list': ()}),)
)
FORGED: tuple[tuple[str, dict[str, object], tuple[str, ...]], ...] = (
    # kind of the event, its values beside the actor host1, what is found
    (
        'owner_changed',
        {**FREE, 'actor': 'host2', 'from_host': 'host3', 'to_host': 'host2'},
        ('law 1: wrong owner before', 'its record says host1'),
    ),
    (
        'owner_changed',
        {**FREE, 'actor': 'host2', 'to_host': 'host2'},
        ('law 1: wrong owner before',),
    ),
    (
        'owner_changed',
        {**FREE, 'actor': 'host2', 'from_host': 'host1'},
        ('law 1: another service',),
    ),
    ('owner_changed', {**TAKEN, 'from_host': 'host1'}, ('law 2',)),
    ('node_forgotten', {**TAKEN, 'from_host': 'host1'}, ('law 2',)),
    (
        'node_forgotten',
        {**TAKEN, **BY_OPERATOR, 'from_host': 'host1'},
        ('law 3: has an instance',),
    ),
    (
        'node_forgotten',
        {**FREE, **BY_OPERATOR, 'from_host': 'host2'},
        ('law 3: wrong owner before',),
    ),
    (
        'node_reserved',
        {**FREE, **BY_OPERATOR, 'to_host': 'host2', 'instance_uuid': 'i2'},
        ('law 1: reserved the node of another service',),
    ),
    (
        'node_reserved',
        {**TAKEN, **BY_OPERATOR, 'to_host': 'host1', 'instance_uuid': 'i2'},
        ('law 1: reserved twice',),
    ),
    (
        'instance_closed',
        {**TAKEN, 'from_host': 'host1', 'instance_uuid': 'i1'},
        ('its record says i1',),
    ),
)
FORGED_OF_A_FENCED_SERVICE = (
    ('owner_changed', NEW, ('law 1: actor is fenced',)),
    (
        'node_released',
        {**TAKEN, 'from_host': 'host2', 'instance_uuid': 'i2'},
        (
            'law 1: actor is fenced',
            'law 1: wrong owner before',
            'law 2: has another instance',
        ),
    ),
)


class TestLaws(unittest.TestCase):
    def setUp(self) -> None:
        self.begin()

    def begin(self) -> None:
        """Let two services live, of which one owns both nodes."""
        self.database = connection.open_database(databases.SQLITE.fresh())
        self.addCleanup(self.database.close)
        schema.upgrade(self.database)
        self.records = records.SqlRecords(self.database)
        self.epochs = {
            host: self.records.register(host, SHARING)
            for host in ('host1', 'host2')
        }
        claims = [
            Claim(node, reasons.Reason.ASSIGNED) for node in (NODE, DEPLOYED)
        ]
        self.records.apply('host1', self.epochs['host1'], claims)

    def forge(self, kind: str, values: dict[str, object]) -> None:
        row = {'at': 0.0, 'actor': 'host1', 'kind': kind, **values}
        self.database.write(lambda c: c.execute(sa.insert(tables.events), row))

    def assert_found(
        self, *words: str, evidence: laws.Evidence | None = None
    ) -> None:
        found = '\n'.join(laws.violations(self.records, evidence))
        for word in words:
            self.assertIn(word, found)

    def take_over(self) -> None:
        """Let host2 take the free node, which fences host1."""
        claim = Claim(
            NODE,
            reasons.Reason.ASSIGNED,
            seen_host='host1',
            seen_epoch=self.epochs['host1'],
        )
        outcome = self.records.apply('host2', self.epochs['host2'], [claim])
        self.assertEqual((claim,), outcome.applied)

    def test_true_history_is_lawful(self) -> None:
        self.assertEqual([], laws.violations(self.records))
        self.take_over()
        self.assertEqual([], laws.violations(self.records))

    def test_each_forged_event_is_found(self) -> None:
        for fenced, rows in (
            (False, FORGED),
            (True, FORGED_OF_A_FENCED_SERVICE),
        ):
            for kind, values, words in rows:
                with self.subTest(kind, fenced=fenced, **values):
                    self.begin()
                    if fenced:
                        self.take_over()
                    self.forge(kind, values)
                    self.assert_found(*words)

    def test_write_without_the_right_is_found_by_evidence(self) -> None:
        writers = {event.id: 'host1_2' for event in self.records.events()}
        last = max(writers)
        self.forge('owner_changed', NEW)
        self.assert_found(
            'law 1: the right of the actor had lapsed',
            evidence=laws.Evidence([laws.Lapse('host1', last)]),
        )
        self.assert_found(
            'law 1: written by host1_1, while host1_2 is active',
            evidence=laws.Evidence(writers={**writers, last + 1: 'host1_1'}),
        )

    def test_only_nodes_of_known_rings_may_change_owner(self) -> None:
        for settings in (
            model.MemberSettings(),
            model.MemberSettings((model.PolicySettings('foreign'),)),
        ):
            self.begin()
            for host in self.epochs:
                self.epochs[host] = self.records.register(host, settings)
            self.take_over()
            self.assert_found('law 5')
        known = laws.Evidence(rings={*laws.RINGS, 'foreign'})
        self.assertEqual([], laws.violations(self.records, known))
