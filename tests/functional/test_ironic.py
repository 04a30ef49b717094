"""The Ironic client against a real Ironic."""

from __future__ import annotations

from ironic_ownership.contracts import exceptions, model
from tests.contract.suites import bare_metal as contract
from tests.functional.support import ironics


class ContractTest(contract.BareMetalContract, ironics.IronicTestCase):
    """The laws of every bare_metal, with pages of two nodes."""

    def setUp(self) -> None:
        super().setUp()
        self.bare_metal = ironics.open_ironic(
            self.server.endpoint, page_size=2
        )

    def enrol(self, count, **kwargs):
        return self.enrolment.enrol(count, **kwargs)

    def delete(self, uuid):
        self.enrolment.delete(uuid)

    def change(self, uuid):
        self.enrolment.set_maintenance(uuid, True)

    def make_unavailable(self):
        self.server.kill()
        self.addCleanup(self.server.start)


class ScanTest(ironics.IronicTestCase):
    """Requests on the wire, and changes while pages are read."""

    def setUp(self) -> None:
        super().setUp()
        self.proxy = ironics.RecordingProxy(self.server.endpoint)
        self.addCleanup(self.proxy.stop)

    def open(self, **options):
        return ironics.open_ironic(self.proxy.url, **options)

    def test_every_page_of_a_shard_is_asked_for_with_the_filter(self):
        mine = self.enrolment.enrol(20, shard='Rack1', conductor_group='g')
        self.enrolment.enrol(20, shard='rack1', conductor_group='g')
        self.enrolment.enrol(20)
        nodes = self.open(page_size=7).scan(
            model.Scope(shard='Rack1', conductor_group='g')
        )
        self.assertEqual(sorted(mine), sorted(n.uuid for n in nodes))
        self.assertEqual(3, len(self.proxy.lists))
        for query in self.proxy.lists:
            shards = [value for name, value in query if name == 'shard']
            self.assertEqual({'Rack1'}, set(shards))
            self.assertIn(('conductor_group', 'g'), query)
        for path, _, _ in self.proxy.requests:
            self.assertIn(path, ('/', '/v1/nodes'))

    def test_scan_asks_for_the_versions_once_and_names_itself(self):
        self.enrolment.enrol(5)
        bare_metal = self.open(page_size=2)
        bare_metal.scan(model.Scope())
        bare_metal.scan(model.Scope())
        paths = [path for path, _, _ in self.proxy.requests]
        self.assertEqual(1, paths.count('/'))
        ids = [
            headers.get('x-openstack-request-id')
            for path, _, headers in self.proxy.requests
            if path != '/'
        ]
        self.assertEqual(6, len(ids))
        self.assertEqual(2, len(set(ids)))
        self.assertTrue(all(i and i.startswith('req-') for i in ids))

    def test_nodes_deleted_and_added_during_a_scan_do_not_break_it(self):
        uuids = self.enrolment.enrol(50)
        late: list[str] = []

        def change(number):
            if number == 3:
                # Neither on a page that was read, nor the marker.
                self.enrolment.delete(uuids[30])
                self.enrolment.delete(uuids[2])
                late.extend(self.enrolment.enrol(3))

        self.proxy.before = change
        nodes = self.open(page_size=7).scan(model.Scope())
        found = [node.uuid for node in nodes]
        self.assertEqual(len(found), len(set(found)))
        stayed = set(uuids) - {uuids[2], uuids[30]}
        self.assertLessEqual(stayed | set(late), set(found))
        self.assertNotIn(uuids[30], found)

    def test_endpoint_is_spelled_in_any_way_and_a_wrong_one_is_named(
        self,
    ) -> None:
        (uuid,) = self.enrolment.enrol(1)
        for suffix in ('', '/', '/v1', '/v1/'):
            bare_metal = ironics.open_ironic(self.server.endpoint + suffix)
            self.assertEqual(1, len(bare_metal.scan(model.Scope())))
        for suffix in ('/v2', '/v1/nodes', '/baremetal', f'/v1/nodes/{uuid}'):
            bare_metal = ironics.open_ironic(self.server.endpoint + suffix)
            # Never a deleted node.
            for ask in (uuid, contract.MISSING):
                error = self.assertRaises(
                    exceptions.IronicError, bare_metal.get, ask
                )
                self.assertIn('endpoint_override', error.hint)

    def test_child_nodes_are_not_listed_and_can_be_looked_up(self):
        parent, child = self.enrolment.enrol(2)
        with self.server.sql() as database:
            database.execute(
                'UPDATE nodes SET parent_node = ? WHERE uuid = ?',
                (parent, child),
            )
        bare_metal = self.open()
        self.assertEqual(
            [parent], [n.uuid for n in bare_metal.scan(model.Scope())]
        )
        self.assertIsNotNone(bare_metal.get(child))

    def test_node_comes_as_ironic_describes_it(self):
        (uuid,) = self.enrolment.enrol(1, shard='a', conductor_group='G')
        self.enrolment.set_maintenance(uuid, True)
        (node,) = self.open().scan(model.Scope())
        self.assertEqual('fake-hardware', node.driver)
        self.assertEqual('available', node.provision_state)
        self.assertEqual('power off', node.power_state)
        self.assertEqual('baremetal', node.resource_class)
        self.assertEqual('131072', node.properties['memory_mb'])
        self.assertEqual(('CUSTOM_LAB', 'HW_CPU_X86_VMX'), node.traits)
        self.assertEqual(('a', 'g'), (node.shard, node.conductor_group))
        self.assertTrue(node.maintenance)
        self.assertFalse(node.retired)
