"""Columns: keys that scripts rely on, cells that every format can hold."""

from __future__ import annotations

import dataclasses
import unittest

from ironic_ownership.api import schemas
from ironic_ownership.api.resources import compute_nodes, services
from ironic_ownership.cli import formatters
from ironic_ownership.contracts import model, reasons
from ironic_ownership.contracts.reasons import Decision
from ironic_ownership.engine.membership import member_listing
from ironic_ownership.engine.queries import deployment, service_status

KINDS = (
    (compute_nodes.SHORT, compute_nodes.LONG, compute_nodes.DETAILS),
    (services.SHORT, services.LONG, services.DETAILS),
    (services.MEMBERS,),
)


class ColumnsTest(unittest.TestCase):
    def test_keys_are_unique_and_lead_from_the_heading(self) -> None:
        for kinds in KINDS:
            for of in kinds:
                keys = tuple(schemas.keys(of))
                self.assertEqual(len(keys), len(set(keys)))
                # Longer lists begin with the shorter.
                self.assertEqual(
                    schemas.keys(kinds[0]), keys[: len(schemas.keys(kinds[0]))]
                )
                for key in keys:
                    self.assertRegex(key, '^[a-z]+(_[a-z]+)*$')
                    # cliff finds a column by its heading or by its key.
                    heading = formatters.heading(key)
                    self.assertEqual(key, heading.lower().replace(' ', '_'))
        self.assertEqual('Instance UUID', formatters.heading('instance_uuid'))


class ComputeNodeTest(unittest.TestCase):
    def test_ironic_is_believed_before_the_record(self) -> None:
        node = model.Node(
            'u1', name='n1', shard='s', conductor_group='g', driver='d'
        )
        record = model.ComputeNode(
            'u1', 'h', name='old', shard='t', instance_uuid='i', updated_at=0.0
        )
        states = deployment.State
        for found, state, decision, expected in (
            (
                *(node, states.OWNED),
                Decision('h', reasons.Reason.EXCLUSIVE),
                ['u1', 'n1', 'h', 'owned', None, 's', 'g', 'exclusive', None],
            ),
            # An orphan is shown from its record.
            (
                *(None, states.ORPHAN),
                Decision(None, reasons.Reason.NODE_GONE),
                ['u1', 'old', 'h', 'orphan', 'i', 't', '', 'node_gone', None],
            ),
        ):
            row = schemas.cells(
                compute_nodes.DETAILS,
                deployment.NodeStatus(
                    'u1', state, found, record, decision, None
                ),
            )
            short = [row[key] for key in schemas.keys(compute_nodes.SHORT)]
            self.assertEqual(expected, short)
            self.assertEqual('i', row['recorded_instance_uuid'])
        for key in ('decided_owner', 'provision_state', 'maintenance'):
            self.assertIsNone(row[key])

    def test_event_leaves_out_what_it_does_not_say(self) -> None:
        said = compute_nodes._event_cell(
            model.Event(1, 0.0, 'h', 'owner_changed', 'u1', to_host='h')
        )
        self.assertEqual(['at', 'actor', 'kind', 'to_host'], list(said))


class ServiceTest(unittest.TestCase):
    def test_settings_that_are_set_are_shown(self) -> None:
        of = model.PolicySettings.of
        for policies, expected in (
            (
                (
                    of('conductor_group', {'conductor_group': ''}),
                    of('peer_list', {'peer_list': ('a', 'b')}),
                    of('unset', {'limit': None}),
                ),
                {'conductor_group': '', 'peer_list': ['a', 'b']},
            ),
            # Options of one name are distinguished.
            (
                (of('a', {'limit': 1}), of('b', {'limit': 2})),
                {'a.limit': 1, 'b.limit': 2},
            ),
        ):
            settings = model.MemberSettings(policies)
            member = model.Member('h', 'i', 0.0, settings)
            row = schemas.cells(services.advertised('settings'), member)
            self.assertEqual(expected, row['settings'])

    def test_values_that_a_member_advertises_for_itself_are_shown(
        self,
    ) -> None:
        of = model.PolicySettings.of
        settings = model.MemberSettings(
            (of('ring', {'key': 'zone'}),),
            2,
            (of('ring', {'zone': 'a', 'weight': 3}),),
        )
        row, member = model.Service('h'), model.Member('h', 'i', 0.0, settings)
        status = service_status.ServiceStatus(row, member, True)
        reading = member_listing.Reading(member, True, True)
        for role, active in (('standby', False), ('unknown', None)):
            found = dataclasses.replace(reading, active=active)
            self.assertEqual(role, found.role)
        for shown, thing in (
            (services.DETAILS, status),
            (services.LONG, status),
            (services.MEMBERS, reading),
        ):
            found = schemas.cells(shown, thing)
            self.assertEqual({'key': 'zone'}, found['settings'])
            self.assertEqual(
                {'weight': 3, 'zone': 'a'}, found['member_values']
            )

    def test_alive_is_unknown_without_a_view(self) -> None:
        row, member = model.Service('h'), model.Member('h', 'i')
        # Heartbeats in Nova count without the driver only.
        stock = model.Service('h', up_in_nova=True)
        changed = dataclasses.replace(stock, registered_at=1.0)
        for one, seen, is_known, alive in (
            (row, member, True, 'up'),
            (row, None, True, 'down'),
            (row, None, False, 'unknown'),
            (stock, None, True, 'up'),
            (stock, None, False, 'up'),
            (changed, None, True, 'down'),
        ):
            status = service_status.ServiceStatus(one, seen, is_known)
            self.assertEqual(alive, status.alive)
