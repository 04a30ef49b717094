"""The laws of every bare_metal: the fake, and the client of a real Ironic."""

from __future__ import annotations

import unittest
from typing import TYPE_CHECKING

from ironic_ownership.contracts import exceptions, model
from ironic_ownership.contracts.bare_metal import SUMMARY, BareMetal
from tests.contract.suites import fake_bare_metal

if TYPE_CHECKING:
    _Case = unittest.TestCase
else:
    _Case = object

MISSING = '00000000-0000-4000-8000-00000000dead'


class BareMetalContract(_Case):
    """Laws of every bare_metal; mixed into a test case that makes one.

    Each test begins with an empty Ironic.
    """

    bare_metal: BareMetal

    def enrol(
        self,
        count: int,
        *,
        shard: str | None = None,
        conductor_group: str = '',
        instance_share: float = 0.0,
    ) -> list[str]:
        """Give Ironic more nodes and return their uuids."""
        raise NotImplementedError

    def delete(self, uuid: str) -> None:
        """Take a node from Ironic."""
        raise NotImplementedError

    def change(self, uuid: str) -> None:
        """Put a node into maintenance."""
        raise NotImplementedError

    def make_unavailable(self) -> None:
        """Let Ironic fail for the rest of the test."""
        raise NotImplementedError

    def _uuids(self, scope: model.Scope) -> list[str]:
        return sorted(node.uuid for node in self.bare_metal.scan(scope))

    def test_scan_without_a_filter_lists_each_node_once(self) -> None:
        uuids = self.enrol(5) + self.enrol(4, shard='a', conductor_group='g')
        self.assertEqual(sorted(uuids), self._uuids(model.Scope()))

    def test_empty_ironic_is_an_empty_list(self) -> None:
        self.assertEqual([], self._uuids(model.Scope()))

    def test_shard_is_matched_with_regard_to_case(self) -> None:
        self.enrol(2)
        upper = self.enrol(3, shard='Rack1')
        lower = self.enrol(4, shard='rack1')
        for shard, uuids in (('Rack1', upper), ('rack1', lower)):
            scope = model.Scope(shard=shard)
            self.assertEqual(sorted(uuids), self._uuids(scope))
        self.assertEqual([], self._uuids(model.Scope(shard='RACK1')))

    def test_shard_with_commas_and_blanks_is_one_shard(self) -> None:
        self.enrol(1, shard='a')
        odd = self.enrol(1, shard='a, b&c=d')
        self.assertEqual(odd, self._uuids(model.Scope(shard='a, b&c=d')))

    def test_empty_group_is_the_default_group_and_not_every_group(
        self,
    ) -> None:
        default = self.enrol(3)
        other = self.enrol(2, conductor_group='g1')
        self.assertEqual(
            sorted(default), self._uuids(model.Scope(conductor_group=''))
        )
        self.assertEqual(
            sorted(other), self._uuids(model.Scope(conductor_group='g1'))
        )

    def test_shard_and_group_add_up(self) -> None:
        both = self.enrol(2, shard='a', conductor_group='g')
        self.enrol(2, shard='a')
        self.enrol(2, conductor_group='g')
        scope = model.Scope(shard='a', conductor_group='g')
        self.assertEqual(sorted(both), self._uuids(scope))

    def test_scope_of_nothing_lists_nothing(self) -> None:
        self.enrol(2)
        self.assertEqual([], self._uuids(model.Scope(nothing=True)))

    def test_lookup_is_not_filtered(self) -> None:
        for shard, group in ((None, ''), ('a', 'g'), ('B', '')):
            (uuid,) = self.enrol(1, shard=shard, conductor_group=group)
            node = self.bare_metal.get(uuid)
            self.assertIsNotNone(node)
            assert node is not None
            self.assertEqual(
                (uuid, shard, group),
                (node.uuid, node.shard, node.conductor_group),
            )

    def test_lookup_by_instance_or_name_is_not_filtered(self) -> None:
        for shard, group in ((None, ''), ('a', 'g')):
            (uuid,) = self.enrol(
                1, shard=shard, conductor_group=group, instance_share=1.0
            )
            node = self.bare_metal.get(uuid)
            assert node is not None
            found = self.bare_metal.node_of_instance(str(node.instance_uuid))
            self.assertEqual(uuid, found)
            self.assertEqual(uuid, self.bare_metal.node_named(str(node.name)))
        self.assertIsNone(self.bare_metal.node_of_instance(uuid))

    def test_unknown_instances_and_names_have_no_node(self) -> None:
        self.enrol(2)
        self.assertIsNone(self.bare_metal.node_of_instance(MISSING))
        for name in ('unknown', 'detail', '..', '', 'a b', 'a/b', 'ä'):
            self.assertIsNone(self.bare_metal.node_named(name), name)

    def test_lookup_and_scan_describe_a_node_alike(self) -> None:
        self.enrol(2, shard='a', instance_share=0.5)
        nodes = self.bare_metal.scan(model.Scope())
        self.assertEqual(1, sum(bool(n.instance_uuid) for n in nodes))
        for node in nodes:
            self.assertEqual(node, self.bare_metal.get(node.uuid))

    def test_summary_has_the_same_nodes_with_fewer_fields(self) -> None:
        self.enrol(3, instance_share=0.5)
        self.enrol(3, shard='Rack1', conductor_group='g', instance_share=0.5)
        self.enrol(1, shard='rack1')
        for scope in (
            model.Scope(),
            model.Scope(shard='Rack1'),
            model.Scope(conductor_group=''),
            model.Scope(nothing=True),
        ):
            self.assertCountEqual(
                [
                    model.Node(**{n: getattr(node, n) for n in SUMMARY})
                    for node in self.bare_metal.scan(scope)
                ],
                self.bare_metal.scan(scope, summary=True),
            )

    def test_missing_and_deleted_nodes_are_none(self) -> None:
        first, second = self.enrol(2)
        self.assertIsNone(self.bare_metal.get(MISSING))
        self.delete(first)
        self.assertIsNone(self.bare_metal.get(first))
        self.assertIsNotNone(self.bare_metal.get(second))

    def test_counts_cover_every_shard_and_none(self) -> None:
        self.assertEqual({}, dict(self.bare_metal.shard_counts()))
        self.enrol(3)
        self.enrol(2, shard='Rack1', conductor_group='g')
        self.enrol(1, shard='rack1')
        self.assertEqual(
            {None: 3, 'Rack1': 2, 'rack1': 1},
            dict(self.bare_metal.shard_counts()),
        )

    def test_shard_that_is_set_is_that_of_the_node(self) -> None:
        (mine,) = self.enrol(1)
        (other,) = self.enrol(1, shard='rack-1')
        for uuid in (mine, other, other):
            self.assertIsNone(self.bare_metal.set_shard(uuid, 'Rack-2'))
        found = self.bare_metal.scan(model.Scope(shard='Rack-2'))
        self.assertEqual({mine, other}, {node.uuid for node in found})
        refused = self.bare_metal.set_shard(MISSING, 'Rack-2')
        self.assertRegex(str(refused), '^node_exists: ')

    def test_count_agrees_with_the_scan_and_the_counts(self) -> None:
        self.enrol(3)
        self.enrol(2, shard='a', conductor_group='g')
        for scope, count in (
            (model.Scope(), 5),
            (model.Scope(shard='a'), 2),
            (model.Scope(shard='b'), 0),
            (model.Scope(conductor_group=''), 3),
            (model.Scope(nothing=True), 0),
        ):
            self.assertEqual(count, self.bare_metal.count(scope))
            self.assertEqual(count, len(self.bare_metal.scan(scope)))

    def test_instances_are_those_of_the_scan(self) -> None:
        self.enrol(5, instance_share=0.6)
        self.enrol(5, shard='Rack1', conductor_group='g', instance_share=0.6)
        self.enrol(5, shard='rack1', instance_share=0.6)
        for scope in (
            model.Scope(),
            model.Scope(shard='Rack1'),
            model.Scope(conductor_group=''),
            model.Scope(conductor_group='g'),
            model.Scope(shard='rack1', conductor_group=''),
            model.Scope(shard='none has this'),
            model.Scope(nothing=True),
        ):
            found = self.bare_metal.instances(scope)
            self.assertEqual(
                {
                    node.uuid: node.instance_uuid
                    for node in self.bare_metal.scan(scope)
                    if node.instance_uuid
                },
                dict(found),
            )
        self.assertEqual(9, len(self.bare_metal.instances(model.Scope())))

    def test_free_nodes_are_those_of_the_scan_without_an_instance(
        self,
    ) -> None:
        self.enrol(5, instance_share=0.6)
        self.enrol(5, shard='Rack1', conductor_group='g', instance_share=0.6)
        for scope in (
            model.Scope(),
            model.Scope(shard='Rack1'),
            model.Scope(conductor_group=''),
            model.Scope(nothing=True),
        ):
            for wanted in (None, 'no-such-class'):
                expected = fake_bare_metal.free_of(
                    self.bare_metal.scan(scope), wanted
                )
                self.assertCountEqual(
                    expected,
                    self.bare_metal.free(scope, resource_class=wanted),
                )
        self.assertEqual(4, len(self.bare_metal.free(model.Scope())))
        self.assertGreater(
            4, len(self.bare_metal.free(model.Scope(shard='Rack1'), enough=1))
        )

    def test_latest_changes_are_first_and_as_in_a_scan(self) -> None:
        self.enrol(3, shard='a', conductor_group='g')
        uuids = self.enrol(4, shard='a')
        other, *_ = self.enrol(2, shard='b')
        self.change(uuids[2])
        self.change(other)
        self.change(uuids[1])
        scope = model.Scope(shard='a')
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
        scope = model.Scope(shard='a')
        self.bare_metal.fleet(scope)
        for uuid in (uuids[0], uuids[2], other, uuids[1]):
            self.change(uuid)
        found = self.bare_metal.changed_after(scope, uuids[0], 2)
        assert found is not None
        self.assertEqual(
            [uuids[2], uuids[1]], [row.node.uuid for row in found]
        )
        self.assertLess(found[0].updated_at or 0, found[1].updated_at or 0)
        listed = {node.uuid: node for node in self.bare_metal.scan(scope)}
        for row in found:
            self.assertEqual(listed[row.node.uuid], row.node)
        self.assertIsNone(self.bare_metal.changed_after(scope, uuids[0], 1))
        found = self.bare_metal.changed_after(scope, uuids[1], 1)
        self.assertEqual([], found)

    def test_newest_nodes_are_those_that_were_created_last(self) -> None:
        self.enrol(3, shard='a')
        first = self.enrol(1, shard='a')
        self.enrol(3, shard='b')
        last = self.enrol(1, shard='a', conductor_group='g')
        self.change(first[0])
        scope = model.Scope(shard='a')
        found = self.bare_metal.newest(scope, 2)
        self.assertEqual(last + first, [node.uuid for node in found])
        listed = {node.uuid: node for node in self.bare_metal.scan(scope)}
        for node in found:
            self.assertEqual(listed[node.uuid], node)
        nothing = model.Scope(nothing=True)
        self.assertEqual([], list(self.bare_metal.newest(nothing, 2)))
        self.assertIsNone(self.bare_metal.latest_changes(nothing, 2))

    def test_conductors_have_the_drivers_of_the_nodes(self) -> None:
        self.enrol(1)
        self.enrol(1, conductor_group='g1')
        conductors = self.bare_metal.conductors()
        for node in self.bare_metal.scan(model.Scope()):
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

    def test_server_is_accepted(self) -> None:
        self.bare_metal.check()

    def test_outage_is_an_error_and_never_an_answer(self) -> None:
        (uuid,) = self.enrol(1, shard='a')
        self.bare_metal.scan(model.Scope())
        self.make_unavailable()
        for ask in (
            lambda: self.bare_metal.scan(model.Scope()),
            lambda: self.bare_metal.scan(model.Scope(shard='a')),
            lambda: self.bare_metal.free(model.Scope()),
            lambda: self.bare_metal.latest_changes(model.Scope(), 1),
            lambda: self.bare_metal.newest(model.Scope(), 1),
            lambda: self.bare_metal.count(model.Scope()),
            lambda: self.bare_metal.instances(model.Scope()),
            lambda: self.bare_metal.get(uuid),
            lambda: self.bare_metal.get(MISSING),
            self.bare_metal.shard_counts,
            self.bare_metal.conductors,
            self.bare_metal.check,
        ):
            self.assertRaises(exceptions.IronicUnavailableError, ask)
