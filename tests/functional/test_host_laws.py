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
SHARING = model.MemberSettings(
    (model.PolicySettings.of('peer_list', {'peer_list': ()}),)
)


class TestLaws(unittest.TestCase):
    def setUp(self) -> None:
        self.database = connection.open_database(databases.SQLITE.fresh())
        self.addCleanup(self.database.close)
        schema.upgrade(self.database)
        self.records = records.SqlRecords(self.database)
        self.live('host1', 'host2')

    def live(
        self, *hosts: str, settings: model.MemberSettings = SHARING
    ) -> None:
        self.epochs = {h: self.records.register(h, settings) for h in hosts}
        claims = [
            Claim(node, reasons.Reason.ASSIGNED) for node in (NODE, DEPLOYED)
        ]
        self.records.apply('host1', self.epochs['host1'], claims)

    def forge(self, kind: str, **values: object) -> None:
        row = {'at': 0.0, 'actor': 'host1', 'kind': kind, **values}
        self.database.write(lambda c: c.execute(sa.insert(tables.events), row))

    def assert_found(
        self, *words: str, evidence: laws.Evidence | None = None
    ) -> None:
        found = '\n'.join(laws.violations(self.records, evidence))
        for word in words:
            self.assertIn(word, found)

    def take_over(self) -> None:
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

    def test_owner_changed_from_another_service_is_found(self) -> None:
        self.forge(
            'owner_changed',
            node_uuid=NODE.uuid,
            actor='host2',
            from_host='host3',
            to_host='host2',
        )
        self.assert_found('law 1: wrong owner before', 'its record says host1')

    def test_second_claim_of_an_owned_node_is_found(self) -> None:
        self.forge(
            'owner_changed',
            node_uuid=NODE.uuid,
            actor='host2',
            to_host='host2',
        )
        self.assert_found('law 1: wrong owner before')

    def test_write_of_a_fenced_service_is_found(self) -> None:
        self.take_over()
        self.forge(
            'owner_changed',
            node_uuid='00000000-0000-0000-0000-000000000003',
            to_host='host1',
        )
        self.assert_found('law 1: actor is fenced')

    def test_write_after_the_membership_ended_is_found(self) -> None:
        before = max(event.id for event in self.records.events())
        self.forge('owner_changed', node_uuid='new', to_host='host1')
        self.assert_found(
            'law 1: the right of the actor had lapsed',
            evidence=laws.Evidence([laws.Lapse('host1', before)]),
        )

    def test_write_of_another_process_than_the_active_one_is_found(
        self,
    ) -> None:
        writers = {event.id: 'host1_2' for event in self.records.events()}
        self.forge('owner_changed', node_uuid='new', to_host='host1')
        writers[max(writers) + 1] = 'host1_1'
        self.assert_found(
            'law 1: written by host1_1, while host1_2 is active',
            evidence=laws.Evidence(writers=writers),
        )

    def test_release_by_a_stranger_is_found(self) -> None:
        self.forge(
            'owner_changed',
            node_uuid=NODE.uuid,
            actor='host2',
            from_host='host1',
        )
        self.assert_found('law 1: another service')

    def test_new_owner_of_a_deployed_node_is_found(self) -> None:
        self.forge('owner_changed', node_uuid=DEPLOYED.uuid, from_host='host1')
        self.assert_found('law 2')

    def test_forgotten_deployed_node_is_found(self) -> None:
        self.forge(
            'node_forgotten', node_uuid=DEPLOYED.uuid, from_host='host1'
        )
        self.assert_found('law 2')

    def test_deletion_by_an_operator_is_checked_too(self) -> None:
        operator = 'root@somewhere'
        self.forge(
            'node_forgotten',
            node_uuid=DEPLOYED.uuid,
            actor=operator,
            from_host='host1',
        )
        self.assert_found('law 3: has an instance')
        self.forge(
            'node_forgotten',
            node_uuid=NODE.uuid,
            actor=operator,
            from_host='host2',
        )
        self.assert_found('law 3: wrong owner before')

    def test_reservation_is_checked_too(self) -> None:
        operator = 'root@somewhere'
        self.forge(
            'node_reserved',
            node_uuid=NODE.uuid,
            actor=operator,
            to_host='host2',
            instance_uuid='i2',
        )
        self.assert_found('law 1: reserved the node of another service')
        self.forge(
            'node_reserved',
            node_uuid=DEPLOYED.uuid,
            actor=operator,
            to_host='host1',
            instance_uuid='i2',
        )
        self.assert_found('law 1: reserved twice')

    def test_end_of_a_reservation_is_checked_too(self) -> None:
        self.take_over()  # after which host1 is fenced
        self.forge(
            'node_released',
            node_uuid=DEPLOYED.uuid,
            from_host='host2',
            instance_uuid='i2',
        )
        self.assert_found(
            'law 1: actor is fenced',
            'law 1: wrong owner before',
            'law 2: has another instance',
        )

    def test_nodes_are_shared_by_the_rings_that_are_known(self) -> None:
        settings = model.MemberSettings((model.PolicySettings('foreign'),))
        for host in ('host1', 'host2'):
            self.epochs[host] = self.records.register(host, settings)
        self.take_over()
        self.assert_found('law 5')
        known = laws.Evidence(rings={*laws.RINGS, 'foreign'})
        self.assertEqual([], laws.violations(self.records, known))

    def test_exclusive_node_that_changes_owner_is_found(self) -> None:
        self.epochs['host1'] = self.records.register(
            'host1', model.MemberSettings()
        )
        self.take_over()
        self.assert_found('law 5')

    def test_record_without_its_event_is_found(self) -> None:
        self.database.write(
            lambda c: c.execute(
                sa.update(tables.compute_nodes).values(host='host2')
            )
        )
        self.assert_found('its record says host2')

    def test_instance_without_its_event_is_found(self) -> None:
        self.forge(
            'instance_closed',
            node_uuid=DEPLOYED.uuid,
            from_host='host1',
            instance_uuid='i1',
        )
        self.assert_found('its record says i1')
