"""Findings of the doctor, of snapshots in few words."""

from __future__ import annotations

import dataclasses
import itertools
import pathlib
import re
import unittest
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import hypothesis
from hypothesis import strategies as st

from ironic_ownership.cli import app
from ironic_ownership.contracts import exceptions, model
from ironic_ownership.policies.peer_list import Ring
from ironic_ownership_nova.cell import model as cell
from ironic_ownership_nova.cell.check import Finding
from ironic_ownership_nova.doctor import (
    examination,
    findings,
    report,
    rings,
    snapshot,
    sources,
)
from ironic_ownership_nova.doctor.advice import ADVICE
from tests.unit import configurations
from tests.unit.engine import world

A, B = world.uuid(1), world.uuid(2)
ODD = 'ffffffff-0000-4000-8000-000000000000'
SERVER = 'eeeeeeee-0000-4000-8000-000000000000'
HOSTS = ('Host1', 'host2', 'host3')


def services(*down: str) -> list[cell.CellService]:
    return [
        cell.CellService(number, host, host not in down)
        for number, host in enumerate(HOSTS, 1)
    ]


def row(name: str, host: str | None = 'Host1', **values: Any) -> cell.CellNode:
    number = HOSTS.index(host) + 1 if host in HOSTS else 9
    return cell.CellNode(
        **{'id': 1, 'uuid': name, 'name': name, 'host': host}
        | {'service_id': number}
        | values
    )


def node(uuid: str, instance: str | None = None, **more: Any) -> model.Node:
    return model.Node(uuid, instance_uuid=instance, **more)


def seen(
    rows: Iterable[cell.CellNode],
    *nodes: model.Node,
    instances: Sequence[cell.CellInstance] = (),
    providers: Mapping[str, str] | None = None,
    down: Sequence[str] = (),
    changing: Iterable[str] = (),
) -> snapshot.Snapshot:
    rows = [*rows]
    if providers is None:
        providers = {one.name: one.name for one in rows}
    return snapshot.Snapshot(
        cell.CellSnapshot(services(*down), rows, instances),
        {one.uuid: one for one in nodes},
        providers,
        frozenset(changing),
    )


class FindingsTest(unittest.TestCase):
    def found(self, snapshot: snapshot.Snapshot) -> dict[str, Finding]:
        found = findings.of_snapshot(snapshot)
        by_code = {one.code: one for one in found}
        self.assertEqual(len(found), len(by_code), found)
        return by_code

    def assert_only(
        self, code: str, subjects: Sequence[str], of: snapshot.Snapshot
    ) -> Finding:
        found = self.found(of)
        self.assertEqual([code], [*found])
        self.assertEqual((*subjects,), found[code].subjects)
        return found[code]

    def test_cloud_that_is_right_has_no_findings(self) -> None:
        # It was given to the service in another spelling.
        one = cell.CellInstance(SERVER, B, 'host1')
        new = cell.CellInstance(SERVER, A, 'Host1', is_settled=False)
        for of in (
            seen([row(A), row(B)], node(A), node(B, SERVER), instances=[one]),
            # One that is built or deleted is not compared.
            seen([row(A)], node(A), instances=[new]),
            # Providers of other kinds are left alone.
            seen([row(A)], node(A), providers={A: A, ODD: 'kvm1.example.org'}),
        ):
            self.assertEqual({}, self.found(of))

    def test_rows_of_two_hosts(self) -> None:
        odd = row(A, 'host2', id=2, uuid=ODD, replaced=True)
        found = self.assert_only(
            'duplicate_rows',
            [A],
            seen([odd, row(A)], node(A), providers={A: A}),
        )
        self.assertIn('SET deleted = id WHERE id = 2', found.hint)
        self.assertTrue(found.prevents_adoption)
        # Each in a cell of its own.
        found = self.assert_only(
            'duplicate_rows',
            [A],
            seen([row(A), row(A, 'host2')], node(A), providers={A: A}),
        )
        self.assertIn('Two cells', found.hint)
        self.assertNotIn('SET uuid', found.hint)

    def test_node_of_no_service(self) -> None:
        found = self.assert_only(
            'no_service',
            [A, B],
            seen([row(A, 'x'), row(B, 'x')], node(A), node(B)),
        )
        self.assertIn('Start that nova-compute', found.hint)
        found = self.assert_only(
            'no_service', [A], seen([row(A, None)], node(A))
        )
        # No service of that name can be deleted in Nova.
        self.assertNotIn('Start that nova-compute', found.hint)

    def test_case_twins(self) -> None:
        rows = [row(A, 'HOST2', service_id=2), row(B, 'host2')]
        self.assert_only('case_twins', ['host2'], seen(rows, node(A), node(B)))

    def test_dead_service_with_and_without_nodes(self) -> None:
        of = seen(
            [row(A)],
            node(A, SERVER),
            instances=[cell.CellInstance(SERVER, A, 'Host1')],
            down=['Host1', 'host2'],
        )
        found = self.assert_only('service_down', ['Host1'], of)
        self.assertIn('1 row and 1 instance', found.what)

    def test_half_moved(self) -> None:
        one = cell.CellInstance(SERVER, A, 'host2')
        self.assert_only(
            'half_moved', [A], seen([row(A)], node(A, SERVER), instances=[one])
        )

    def test_instances_against_ironic(self) -> None:
        on_a = cell.CellInstance(SERVER, A, 'Host1')
        for code, nodes, instances in (
            ('instance_unknown', [node(A, SERVER), node(B)], []),
            ('instance_lost', [node(A), node(B)], [on_a]),
        ):
            with self.subTest(code):
                rows = [row(A), row(B)]
                of = seen(rows, *nodes, instances=instances)
                self.assert_only(code, [A], of)

    def test_instance_on_another_node_in_ironic(self) -> None:
        on_a = cell.CellInstance(SERVER, A, 'Host1')
        of = seen([row(A), row(B)], node(A), node(B, SERVER), instances=[on_a])
        found = self.found(of)
        self.assertEqual({'instance_elsewhere', 'instance_lost'}, {*found})
        self.assertEqual((B,), found['instance_elsewhere'].subjects)
        self.assertIn(f"node = '{B}'", found['instance_elsewhere'].hint)

    def test_instance_whose_node_is_gone(self) -> None:
        on_b = cell.CellInstance(SERVER, B, 'Host1')
        of = seen([row(A)], node(A), instances=[on_b])
        self.assert_only('instance_without_node', [B], of)

    def test_row_without_a_node(self) -> None:
        found = self.assert_only(
            'row_orphaned', [B], seen([row(A), row(B)], node(A))
        )
        self.assertIn('compute service delete', found.hint)

    def test_row_without_a_node_and_without_a_service(self) -> None:
        found = self.found(seen([row(A), row(B, None)], node(A)))
        self.assertEqual({'no_service', 'row_orphaned'}, {*found})
        for one in found.values():
            self.assertNotIn('no host is up', one.hint)
            self.assertIn('UPDATE compute_nodes', one.hint)

    def test_list_of_a_project_is_not_taken_for_all_nodes(self) -> None:
        rows = [row(world.uuid(number)) for number in range(1, 9)]
        self.assert_only('ironic_incomplete', [], seen(rows, node(A)))

    def test_node_without_a_row(self) -> None:
        found = self.assert_only(
            'node_unserved', [B], seen([row(A)], node(A), node(B, shard='s'))
        )
        self.assertIn('shard s', found.what)
        self.assertIn('Start a nova-compute', found.hint)
        found = self.assert_only(
            'node_unserved', [B], seen([row(A)], node(A), node(B))
        )
        self.assertIn('log', found.hint)

    def test_providers(self) -> None:
        own, both = {A: A}, [row(A), row(B)]
        for code, subjects, rows, providers in (
            ('provider_orphaned', [B], [row(A)], {A: A, B: B}),
            ('provider_missing', [B], both, own),
            ('provider_uuid_differs', [B], both, {A: A, ODD: B}),
            ('provider_duplicate', [B], both, {A: A, B: 'x', ODD: B}),
        ):
            with self.subTest(code):
                nodes = [node(one.name) for one in rows]
                of = seen(rows, *nodes, providers=providers)
                self.assert_only(code, subjects, of)

    def test_what_changes_meanwhile_is_not_compared(self) -> None:
        on_b = cell.CellInstance(SERVER, B, 'Host1')
        of = seen(
            [row(A)],
            node(A, ODD),
            node(world.uuid(3)),
            instances=[on_b],
            providers={world.uuid(4): world.uuid(4)},
            changing=[A, B, *map(world.uuid, (3, 4))],
        )
        self.assertEqual({}, self.found(of))

    def test_without_ironic_and_placement_the_cell_is_checked(self) -> None:
        of = seen([row(A), row(B, 'x')])
        alone = dataclasses.replace(of, nodes=None, providers=None)
        self.assert_only('no_service', [B], alone)

    def test_deployed_node_of_a_shard_of_another_service(self) -> None:
        of = seen(
            [row(A), row(B, 'host2'), row(world.uuid(3))],
            node(A, shard='s1'),
            node(B, shard='s2'),
            node(world.uuid(3), SERVER, shard='s2'),
            instances=[cell.CellInstance(SERVER, world.uuid(3), 'Host1')],
        )
        found = self.assert_only('deployed_out_of_scope', [world.uuid(3)], of)
        self.assertIn('host2', found.what)


_PAGE = pathlib.Path(__file__).parents[3] / 'doc/source/run/nova-check.rst'

MANY = [world.uuid(number) for number in range(1, 61)]


def split(uuids: Sequence[str], lists: Mapping[str, Sequence[str]]) -> Any:
    """Return rows as services with these lists write them, in this order."""
    hosts: dict[str, str] = {}
    for host, peers in lists.items():
        owners = Ring([peer.lower() for peer in peers]).owners(uuids)
        for uuid, owner in zip(uuids, owners, strict=True):
            if owner == host.lower():
                hosts[uuid] = host
    return [row(uuid, host) for uuid, host in hosts.items()]


class RingsTest(unittest.TestCase):
    def of(self, rows: Sequence[cell.CellNode], **more: Any) -> list[Finding]:
        nodes = [node(one.name, shard='s1', **more) for one in rows]
        return [*rings.of_rings(seen(rows, *nodes))]

    def test_ring_with_a_peer_that_has_no_free_node_is_no_finding(
        self,
    ) -> None:
        rows = split(MANY, dict.fromkeys(HOSTS, HOSTS))
        self.assertEqual([], self.of(rows))
        at_third = [one for one in rows if one.host == 'host3']
        nodes = [
            node(one.name, SERVER if one in at_third else None) for one in rows
        ]
        self.assertEqual([], [*rings.of_rings(seen(rows, *nodes))])

    def test_services_that_take_each_other_nodes(self) -> None:
        # As with peer_list = the service itself: the last one has all but
        # what the first one took back.
        rows = [row(uuid, HOSTS[i % 2]) for i, uuid in enumerate(MANY)]
        (found,) = self.of(rows)
        self.assertEqual('shared_without_ring', found.code)
        self.assertEqual(('host1', 'host2'), found.subjects)
        self.assertIn('host1: 30 free nodes; host2: 30', found.what)
        self.assertIn('shard s1', found.what)
        one = [row(uuid, 'host1') for uuid in MANY[1:]]
        (found,) = self.of([*one, row(MANY[0], 'host2')])
        self.assertRegex(found.what, r'host2: 1 free node[,)]')

    def test_lists_that_differ_are_inferred(self) -> None:
        lists = {
            'host2': ['host2', 'host3'],
            'Host1': ['Host1', 'host2', 'host3'],
            'host3': ['host2', 'host3'],
        }
        (found,) = self.of(split(MANY, lists))
        self.assertEqual('peer_lists_differ', found.code)
        for text in (
            'host1: 14 free nodes, as with peers host1, host2, host3;',
            'host3: 32 free nodes, as with peers host2, host3)',
        ):
            self.assertIn(text, found.what)

    def test_one_node_that_was_left_behind_is_found(self) -> None:
        rows = [row(uuid, 'Host1') for uuid in MANY[:30]]
        rows += [row(uuid, 'host2') for uuid in MANY[30:]]
        shards = {
            uuid: 's1' if i < 29 else 's2' for i, uuid in enumerate(MANY)
        }
        nodes = [node(uuid, shard=shards[uuid]) for uuid in MANY]
        (found,) = rings.of_rings(seen(rows, *nodes))
        self.assertEqual('shared_without_ring', found.code)
        self.assertIn('shard s2', found.what)
        self.assertNotIn('shard s1', found.what)

    def test_dead_services_have_no_part(self) -> None:
        rows = [row(uuid, HOSTS[i % 2]) for i, uuid in enumerate(MANY)]
        nodes = [node(uuid) for uuid in MANY]
        of = seen(rows, *nodes, down=['host2'])
        self.assertEqual([], [*rings.of_rings(of)])

    @hypothesis.given(
        st.sets(st.sampled_from('abcdefgh'), min_size=2),
        st.integers(0, 1000),
        st.integers(1, 40),
    )
    @hypothesis.settings(deadline=None, max_examples=40)
    def test_no_ring_is_ever_taken_for_a_fault(
        self, hosts: set[str], first: int, number: int
    ) -> None:
        # Some peers may have no free node.
        uuids = [world.uuid(first + n) for n in range(number)]
        nodes: dict[str, list[str]] = {}
        for one in split(uuids, dict.fromkeys(sorted(hosts), sorted(hosts))):
            nodes.setdefault(str(one.host), []).append(one.name)
        lists = rings.inferred(nodes)
        self.assertEqual({frozenset(nodes)}, {*lists.values()})

    @hypothesis.given(
        st.dictionaries(
            st.sampled_from(MANY), st.sampled_from('abcd'), min_size=2
        )
    )
    @hypothesis.settings(deadline=None, max_examples=40)
    def test_list_is_the_longest_that_fits(self, of: dict[str, str]) -> None:
        nodes: dict[str, list[str]] = {}
        for uuid, host in of.items():
            nodes.setdefault(host, []).append(uuid)
        for host, peers in rings.inferred(nodes).items():
            sizes = {
                len(some) + 1
                for size in range(len(nodes))
                for some in itertools.combinations({*nodes} - {host}, size)
                if {*Ring([host, *some]).owners(nodes[host])} == {host}
            }
            self.assertEqual(max(sizes), len(peers))


class ExaminationTest(unittest.TestCase):
    def examine(
        self, *cells: cell.CellSnapshot, **sources: Any
    ) -> examination.Examination:
        reads = iter(cells)
        self.said: list[str] = []
        return examination.examine(
            examination.Sources(
                {'mysql://db/nova': lambda: next(reads)},
                **{'ironic': dict, 'placement': dict} | sources,
            ),
            self.said.append,
        )

    def test_row_that_nova_deletes_meanwhile_is_no_fault(self) -> None:
        before = cell.CellSnapshot(services(), [row(A), row(B)], [])
        after = cell.CellSnapshot(services(), [row(A)], [])
        done = self.examine(
            before,
            after,
            ironic=lambda: {A: node(A), B: node(B)},
            placement=lambda: {A: A, B: B},
        )
        self.assertEqual([], [*done.findings])
        self.assertEqual(done.read, self.said)
        self.assertEqual(
            'cell mysql://db/nova: 3 services, 2 rows of Ironic, 0 instances',
            self.said[0],
        )

    def test_what_does_not_answer_is_named_and_the_rest_is_checked(
        self,
    ) -> None:
        def fail() -> Any:
            raise exceptions.IronicError('it is down')

        of = cell.CellSnapshot(services(), [row(A, 'x')], [])
        done = self.examine(of, of, ironic=fail, placement=fail)
        self.assertEqual(['no_service'], [one.code for one in done.findings])
        self.assertEqual(2, len(done.skipped))
        self.assertIn('Ironic was not read', done.skipped[0])


class CloudTest(unittest.TestCase):
    def test_request_to_a_cloud_ends(self) -> None:
        for line, seconds in (('', 60), ('api_timeout: 7', 7)):
            with configurations.cloud(line):
                adapter = sources._of_cloud('one', 'baremetal')
            self.assertEqual(seconds, adapter.session.timeout)

    def test_odd_value_is_an_error_of_the_file(self) -> None:
        for line in 'api_timeout: abc', 'auth: 3':
            with (
                configurations.cloud(line),
                self.assertRaises(exceptions.ConfigurationError),
            ):
                sources._of_cloud('one', 'baremetal')


class AdviceTest(unittest.TestCase):
    def test_every_code_has_its_entry_in_the_page(self) -> None:
        text = _PAGE.read_text()
        self.assertEqual({*ADVICE}, {*re.findall(r'^``(\w+)``$', text, re.M)})

    def test_every_command_exists(self) -> None:
        commands = app.registry()
        for advice in ADVICE.values():
            for words in re.findall(
                r'"ironic-ownership ([a-z ]+)', advice.repair
            ):
                _, _, rest = commands.find_command(words.split())
                self.assertEqual([], rest, words)

    def test_no_command_is_named_that_is_refused(self) -> None:
        # No process stands by for a service of Nova, and Ironic has the node.
        dead = ADVICE['service_down'].repair
        self.assertNotIn('service failover', dead)
        self.assertIn('service set HOST --down', dead)
        self.assertIn('service drain HOST', dead)
        self.assertNotIn('forget', ADVICE['instance_unknown'].repair)


class ReportTest(unittest.TestCase):
    def test_report_has_what_nova_does_and_the_repair(self) -> None:
        subjects = tuple(f'n{number}' for number in range(30))
        text = report.markdown(
            examination.Examination(
                [Finding('no_service', 'why', subjects, 'how')],
                ['cell x: 1 row'],
                ['Ironic was not read'],
            )
        )
        advice = ADVICE['no_service']
        for part in (
            '* cell x: 1 row\n* Ironic was not read\n',
            '## `no_service`: 1 finding\n',
            f'**In Nova:** {advice.nova}\n',
            f'**With ironic-ownership:** {advice.repair}\n',
            '`n19` and 10 more',
            '* Now: how',
        ):
            self.assertIn(part, text)

    def test_without_findings_it_names_what_was_not_read(self) -> None:
        for skipped, words in (
            ([], 'No problems found'),
            (['Ironic was not read'], 'No problems found in what was read'),
        ):
            done = examination.Examination([], ['cell x: 1 row'], skipped)
            self.assertEqual(words, report.nothing(done))
            self.assertTrue(report.markdown(done).endswith(f'{words}.\n'))

    def test_short_rows_have_one_for_each_code(self) -> None:
        found = [
            Finding('b', f'why {n}', tuple(map(str, range(5))), 'how')
            for n in range(3)
        ]
        (group,) = report.by_code(found)
        self.assertEqual(
            ['b', 15, 'why 0: 0, 1, 2 and 2 more. And 2 more: --long', 'how'],
            [column.cell(group) for column in report.SHORT],
        )
