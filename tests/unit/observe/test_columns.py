"""Columns: keys that scripts rely on, cells that every format can hold."""

from __future__ import annotations

import dataclasses
import unittest

import hypothesis
from hypothesis import strategies as st

from ironic_ownership.api.resources import compute_nodes, services
from ironic_ownership.contracts import model, reasons
from ironic_ownership.contracts.reasons import Decision
from ironic_ownership.engine.membership import member_listing
from ironic_ownership.engine.queries import deployment, service_status
from ironic_ownership.observe import columns

KINDS = {
    'compute node': (
        compute_nodes.SHORT,
        compute_nodes.LONG,
        compute_nodes.DETAILS,
    ),
    'service': (services.SHORT, services.LONG, services.DETAILS),
    'member': (services.MEMBERS,),
}
SETTINGS = model.MemberSettings(
    (
        model.PolicySettings.of('conductor_group', {'conductor_group': ''}),
        model.PolicySettings.of('peer_list', {'peer_list': ('a', 'b')}),
        model.PolicySettings.of('unset', {'limit': None}),
    )
)
NODE = model.Node('u1', name='n1', shard='s', conductor_group='g', driver='d')
RECORD = model.ComputeNode(
    'u1', 'h', name='old', shard='t', instance_uuid='i', updated_at=0.0
)
cells = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: (
        st.lists(inner) | st.dictionaries(st.text(min_size=1), inner)
    ),
)


GONE = Decision(None, reasons.Reason.NODE_GONE)


def status(node, record, decision=GONE, state=deployment.State.OWNED):
    return deployment.NodeStatus('u1', state, node, record, decision, None)


def shown(of, thing):
    return dict(zip(columns.keys(of), columns.row(of, thing), strict=True))


class ColumnsTest(unittest.TestCase):
    def test_keys_are_unique_and_in_snake_case(self) -> None:
        for name, kinds in KINDS.items():
            for of in kinds:
                keys = columns.keys(of)
                self.assertEqual(len(keys), len(set(keys)), name)
                for key in keys:
                    self.assertRegex(key, '^[a-z]+(_[a-z]+)*$')

    def test_heading_leads_back_to_the_key(self) -> None:
        # cliff finds a column by its heading or by its key.
        for kinds in KINDS.values():
            for key in columns.keys(kinds[-1]):
                heading = columns.heading(key)
                self.assertEqual(key, heading.lower().replace(' ', '_'))
        self.assertEqual('Instance UUID', columns.heading('instance_uuid'))

    def test_longer_lists_begin_with_the_shorter(self) -> None:
        for kinds in KINDS.values():
            keys = columns.keys(kinds[0])
            for of in kinds[1:]:
                self.assertEqual(keys, columns.keys(of)[: len(keys)])

    @hypothesis.given(cells)
    def test_every_cell_is_readable(self, cell) -> None:
        said = columns.readable(cell)
        self.assertIsInstance(said, str | int | float)
        self.assertNotEqual('', said)

    def test_words_for_people(self) -> None:
        for cell, said in (
            (None, '-'),
            ([], '-'),
            ('', '-'),
            (True, 'yes'),
            (False, 'no'),
            (0, 0),
            (['a', 'b'], 'a, b'),
            ({'a': 'x', 'b': ['y', 'z'], 'c': ''}, "a=x, b=[y, z], c=''"),
            ([{'a': 1}, {'b': 2}], 'a=1\nb=2'),
        ):
            self.assertEqual(said, columns.readable(cell))

    def test_moment_is_in_utc(self) -> None:
        self.assertEqual('1970-01-01T00:00:00+00:00', columns.moment(0.4))
        self.assertIsNone(columns.moment(None))

    def test_durations_have_one_unit(self) -> None:
        for text, seconds in (
            *(('90m', 5400), ('2h', 7200), ('1d', 86400), ('1w', 604800)),
            *(('0s', 0), ('9', None), ('1h30m', None), ('-1h', None)),
            *(('2025-01-31', None), ('1234567890s', None), ('', None)),
        ):
            self.assertEqual(seconds, columns.parse_duration(text), text)


class ComputeNodeTest(unittest.TestCase):
    def test_ironic_is_believed_before_the_record(self) -> None:
        decision = Decision('h', reasons.Reason.EXCLUSIVE)
        row = shown(compute_nodes.DETAILS, status(NODE, RECORD, decision))
        self.assertEqual(
            ['u1', 'n1', 'h', 'owned', None, 's', 'g', 'exclusive', None],
            [row[key] for key in columns.keys(compute_nodes.SHORT)],
        )
        self.assertEqual('i', row['recorded_instance_uuid'])

    def test_orphan_is_shown_from_its_record(self) -> None:
        orphan = status(None, RECORD, state=deployment.State.ORPHAN)
        row = shown(compute_nodes.DETAILS, orphan)
        self.assertEqual(
            ['u1', 'old', 'h', 'orphan', 'i', 't', '', 'node_gone', None],
            [row[key] for key in columns.keys(compute_nodes.SHORT)],
        )
        for key in ('decided_owner', 'provision_state', 'maintenance'):
            self.assertIsNone(row[key])

    def test_heartbeats_in_nova_count_without_the_driver_only(self) -> None:
        stock = model.Service('h', up_in_nova=True)
        changed = dataclasses.replace(stock, registered_at=1.0)
        for row, is_known, alive in (
            (stock, True, 'up'),
            (stock, False, 'up'),
            (changed, True, 'down'),
        ):
            status = service_status.ServiceStatus(row, None, is_known)
            self.assertEqual((alive, None), (status.alive, status.conditions))


def advertised(settings):
    member = model.Member('h', 'i', 0.0, settings)
    return shown(services.advertised('settings'), member)['settings']


class ServiceTest(unittest.TestCase):
    def test_settings_that_are_set_are_shown(self) -> None:
        self.assertEqual(
            {'conductor_group': '', 'peer_list': ['a', 'b']},
            advertised(SETTINGS),
        )

    def test_values_that_a_member_advertises_for_itself_are_shown(
        self,
    ) -> None:
        settings = model.MemberSettings(
            (model.PolicySettings.of('ring', {'key': 'zone'}),),
            2,
            (model.PolicySettings.of('ring', {'zone': 'a', 'weight': 3}),),
        )
        row, member = model.Service('h'), model.Member('h', 'i', 0.0, settings)
        status = service_status.ServiceStatus(row, member, True)
        for columns_ in (services.DETAILS, services.LONG):
            found = shown(columns_, status)
            self.assertEqual({'key': 'zone'}, found['settings'])
            self.assertEqual(
                {'weight': 3, 'zone': 'a'}, found['member_values']
            )
        reading = member_listing.Reading(member, True, True)
        self.assertEqual(
            {'weight': 3, 'zone': 'a'},
            shown(services.MEMBERS, reading)['member_values'],
        )

    def test_options_of_one_name_are_distinguished(self) -> None:
        settings = model.MemberSettings(
            (
                model.PolicySettings.of('a', {'limit': 1}),
                model.PolicySettings.of('b', {'limit': 2}),
            )
        )
        self.assertEqual({'a.limit': 1, 'b.limit': 2}, advertised(settings))

    def test_alive_is_unknown_without_a_view(self) -> None:
        row, member = model.Service('h'), model.Member('h', 'i')
        for status, alive in (
            (service_status.ServiceStatus(row, member, True), 'up'),
            (service_status.ServiceStatus(row, None, True), 'down'),
            (service_status.ServiceStatus(row, None, False), 'unknown'),
        ):
            self.assertEqual(alive, status.alive)

    def test_event_leaves_out_what_it_does_not_say(self) -> None:
        said = compute_nodes._event_cell(
            model.Event(1, 0.0, 'h', 'owner_changed', 'u1', to_host='h')
        )
        self.assertEqual(['at', 'actor', 'kind', 'to_host'], list(said))
