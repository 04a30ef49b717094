"""The laws of every bare_metal: the fake, and the client of a real Ironic."""

from __future__ import annotations

from ironic_ownership.contracts import exceptions
from ironic_ownership.contracts.bare_metal import SUMMARY
from ironic_ownership.contracts.model import Node, Scope
from ironic_ownership.engine.ports import BareMetal
from tests.contract.suites import fake_bare_metal

MISSING = '00000000-0000-4000-8000-00000000dead'


class BareMetalContract:
    """Laws of every bare_metal; mixed into a test case that makes one.

    Each test begins with an empty Ironic. The test case can ``enrol`` nodes,
    ``delete`` one, ``change`` one, which puts it into maintenance, and
    ``make_unavailable`` the Ironic for the rest of the test.
    """

    bare_metal: BareMetal

    def enrol_sample(self) -> list[str]:
        """Give Ironic nodes of each kind, half of them with an instance."""
        return (
            self.enrol(4, instance_share=0.5)
            + self.enrol(4, shard='Rack1', instance_share=0.5)
            + self.enrol(2, shard='rack1', conductor_group='g')
            + self.enrol(2, shard='Rack1', conductor_group='g')
        )

    def test_empty_ironic_is_an_empty_list(self) -> None:
        self.assertEqual([], list(self.bare_metal.scan(Scope())))
        self.assertEqual({}, dict(self.bare_metal.shard_counts()))

    def test_scan_lists_each_node_of_a_scope_once(self) -> None:
        plain = self.enrol(2)
        lower = self.enrol(2, shard='rack1')
        both = self.enrol(2, shard='Rack1', conductor_group='g')
        group = self.enrol(1, conductor_group='g')
        odd = self.enrol(1, shard='a, b&c=d')
        some = self.enrol(1, shard='a')
        for scope, uuids in (
            # With regard to case.
            (Scope(shard='Rack1'), both),
            (Scope(shard='rack1'), lower),
            (Scope(shard='RACK1'), []),
            # One with commas and blanks is one shard.
            (Scope(shard='a, b&c=d'), odd),
            (Scope(conductor_group='g'), both + group),
            (Scope(shard='Rack1', conductor_group='g'), both),
            (Scope(shard='rack1', conductor_group='g'), []),
            (Scope(nothing=True), []),
            (Scope(), plain + lower + both + group + odd + some),
        ):
            found = [node.uuid for node in self.bare_metal.scan(scope)]
            self.assertEqual(sorted(uuids), sorted(found), scope)
            self.assertEqual(len(uuids), self.bare_metal.count(scope), scope)
        self.assertEqual(
            {None: 3, 'Rack1': 2, 'rack1': 2, 'a': 1, 'a, b&c=d': 1},
            dict(self.bare_metal.shard_counts()),
        )

    def test_empty_group_is_the_default_group_and_not_every_group(
        self,
    ) -> None:
        default = self.enrol(3)
        self.enrol(2, conductor_group='g1')
        found = self.bare_metal.scan(Scope(conductor_group=''))
        self.assertEqual(sorted(default), sorted(node.uuid for node in found))

    def test_lookup_is_not_filtered(self) -> None:
        for shard, group in ((None, ''), ('a', 'g'), ('B', '')):
            (uuid,) = self.enrol(
                1, shard=shard, conductor_group=group, instance_share=1.0
            )
            node = self.bare_metal.get(uuid)
            assert node is not None
            self.assertEqual(
                (uuid, shard, group),
                (node.uuid, node.shard, node.conductor_group),
            )
            found = self.bare_metal.node_of_instance(str(node.instance_uuid))
            self.assertEqual(uuid, found)
            self.assertEqual(uuid, self.bare_metal.node_named(str(node.name)))
        self.assertIsNone(self.bare_metal.node_of_instance(uuid))

    def test_unknown_nodes_instances_and_names_are_none(self) -> None:
        first, second = self.enrol(2)
        self.delete(first)
        for uuid, exists in ((MISSING, False), (first, False), (second, True)):
            found = self.bare_metal.get(uuid)
            self.assertIs(exists, found is not None)
        self.assertIsNone(self.bare_metal.node_of_instance(MISSING))
        for name in ('unknown', 'detail', '..', '', 'a b', 'a/b', 'ä'):
            self.assertIsNone(self.bare_metal.node_named(name), name)

    def test_every_list_describes_the_nodes_of_a_scan(self) -> None:
        self.enrol_sample()
        for node in self.bare_metal.scan(Scope()):
            self.assertEqual(node, self.bare_metal.get(node.uuid))
        for scope in (
            Scope(),
            Scope(shard='Rack1'),
            Scope(conductor_group=''),
            Scope(conductor_group='g'),
            Scope(shard='rack1', conductor_group=''),
            Scope(shard='none has this'),
            Scope(nothing=True),
        ):
            nodes = self.bare_metal.scan(scope)
            self.assertCountEqual(
                [
                    Node(**{name: getattr(node, name) for name in SUMMARY})
                    for node in nodes
                ],
                self.bare_metal.scan(scope, summary=True),
                scope,
            )
            self.assertEqual(
                {n.uuid: n.instance_uuid for n in nodes if n.instance_uuid},
                dict(self.bare_metal.instances(scope)),
                scope,
            )
            for wanted in (None, 'no-such-class'):
                self.assertCountEqual(
                    fake_bare_metal.free_of(nodes, wanted),
                    self.bare_metal.free(scope, resource_class=wanted),
                    (scope, wanted),
                )
        self.assertEqual(4, len(self.bare_metal.instances(Scope())))
        self.assertEqual(8, len(self.bare_metal.free(Scope())))
        some = self.bare_metal.free(Scope(shard='Rack1'), enough=1)
        self.assertGreater(4, len(some))

    def test_shard_that_is_set_is_that_of_the_node(self) -> None:
        (mine,) = self.enrol(1)
        (other,) = self.enrol(1, shard='rack-1')
        for uuid in (mine, other, other):
            self.assertIsNone(self.bare_metal.set_shard(uuid, 'Rack-2'))
        found = self.bare_metal.scan(Scope(shard='Rack-2'))
        self.assertEqual({mine, other}, {node.uuid for node in found})
        refused = self.bare_metal.set_shard(MISSING, 'Rack-2')
        self.assertRegex(str(refused), '^node_exists: ')

    def test_latest_changes_are_first_and_as_in_a_scan(self) -> None:
        self.enrol(3, shard='a', conductor_group='g')
        uuids = self.enrol(4, shard='a')
        other, *_ = self.enrol(2, shard='b')
        self.change(uuids[2])
        self.change(other)
        self.change(uuids[1])
        scope = Scope(shard='a')
        page = self.bare_metal.latest_changes(scope, 3)
        assert page is not None
        self.assertFalse(page.complete)
        self.assertEqual(
            [uuids[1], uuids[2]], [row.node.uuid for row in page.nodes[:2]]
        )
        times = [row.updated_at for row in page.nodes]
        assert times[0] is not None and times[1] is not None
        self.assertGreater(times[0], times[1])
        self.assertLess(abs(page.read_at - times[0]), 60)
        page = self.bare_metal.latest_changes(scope, 8)
        assert page is not None
        self.assertTrue(page.complete)
        self.assertCountEqual(
            self.bare_metal.scan(scope), [row.node for row in page.nodes]
        )

    def test_changes_after_a_node_end_with_the_latest(self) -> None:
        uuids = self.enrol(4, shard='a')
        (other,) = self.enrol(1, shard='b')
        scope = Scope(shard='a')
        self.bare_metal.fleet(scope)
        for uuid in (uuids[0], uuids[2], other, uuids[1]):
            self.change(uuid)
        found = self.bare_metal.changed_after(scope, uuids[0], 2)
        assert found is not None
        listed = {node.uuid: node for node in self.bare_metal.scan(scope)}
        self.assertEqual(
            [listed[uuids[2]], listed[uuids[1]]], [row.node for row in found]
        )
        self.assertLess(found[0].updated_at or 0, found[1].updated_at or 0)
        for uuid, expected in ((uuids[0], None), (uuids[1], [])):
            found = self.bare_metal.changed_after(scope, uuid, 1)
            self.assertEqual(expected, found)

    def test_newest_nodes_are_those_that_were_created_last(self) -> None:
        self.enrol(3, shard='a')
        first = self.enrol(1, shard='a')
        self.enrol(3, shard='b')
        last = self.enrol(1, shard='a', conductor_group='g')
        self.change(first[0])
        scope = Scope(shard='a')
        listed = {node.uuid: node for node in self.bare_metal.scan(scope)}
        self.assertEqual(
            [listed[uuid] for uuid in last + first],
            list(self.bare_metal.newest(scope, 2)),
        )
        nothing = Scope(nothing=True)
        self.assertEqual([], list(self.bare_metal.newest(nothing, 2)))
        self.assertIsNone(self.bare_metal.latest_changes(nothing, 2))

    def test_conductors_have_the_drivers_of_the_nodes(self) -> None:
        self.enrol(1)
        self.enrol(1, conductor_group='g1')
        conductors = self.bare_metal.conductors()
        for node in self.bare_metal.scan(Scope()):
            self.assertTrue(
                [
                    one.hostname
                    for one in conductors
                    if one.alive
                    and one.conductor_group == node.conductor_group
                    and node.driver in one.drivers
                ]
            )
        names = [one.hostname for one in conductors]
        self.assertEqual(len(names), len(set(names)))

    def test_outage_is_an_error_and_never_an_answer(self) -> None:
        (uuid,) = self.enrol(1, shard='a')
        self.bare_metal.check()
        self.bare_metal.scan(Scope())
        self.make_unavailable()
        for ask, *values in (
            (self.bare_metal.scan, Scope()),
            (self.bare_metal.scan, Scope(shard='a')),
            (self.bare_metal.free, Scope()),
            (self.bare_metal.latest_changes, Scope(), 1),
            (self.bare_metal.newest, Scope(), 1),
            (self.bare_metal.count, Scope()),
            (self.bare_metal.instances, Scope()),
            (self.bare_metal.get, uuid),
            (self.bare_metal.get, MISSING),
            (self.bare_metal.shard_counts,),
            (self.bare_metal.conductors,),
            (self.bare_metal.check,),
        ):
            unavailable = exceptions.IronicUnavailableError
            self.assertRaises(unavailable, ask, *values)
