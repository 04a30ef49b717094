"""The action guard of a service at work."""

from __future__ import annotations

import threading

from ironic_ownership import wiring
from ironic_ownership.conf import new
from ironic_ownership.contracts import exceptions
from ironic_ownership.engine.host.process import Host
from tests.functional.support import hosts, ironics


class TestGuard(hosts.HostsTestCase):
    """The asked one runs in this process, as in one that embeds it.

    It refreshes once only, so that what it may do is not what it knew.
    """

    def setUp(self) -> None:
        super().setUp()
        self.proxy = ironics.HoldingProxy(self.server.endpoint)
        self.addCleanup(self.proxy.stop)
        self.deployed, *self.free = self.enrol('s1')
        self.foreign, *_ = self.enrol('s2')
        self.deployment.start('host2', 'shard_key', ironic={'shard_key': 's2'})
        theirs = dict.fromkeys(self.foreign_uuids, 'host2')
        # A member that comes wakes the others: it has to be there before.
        self.deployment.wait_for_owners(theirs)
        self.host = self.start_here()
        self.deployment.wait_for_owners(
            dict.fromkeys([self.deployed, *self.free], 'host1') | theirs
        )
        self.proxy.requests.clear()

    def enrol(self, shard: str) -> list[str]:
        uuids = self.enrolment.enrol(3, shard=shard, instance_share=0.34)
        self.foreign_uuids = uuids
        return uuids

    def start_here(self) -> Host:
        file = self.deployment.directory / 'here.conf'
        file.write_text(
            hosts.text_of(
                hosts.FAST,
                {
                    'DEFAULT': {'host': 'host1'},
                    'ownership': {
                        'policies': 'shard_key',
                        'refresh_interval': 600,
                    },
                    # A permission lasts for an interval: longer than a busy
                    # machine takes for an answer of the records.
                    'membership': {'heartbeat_interval': 4, 'member_ttl': 60},
                    'database': {'connection': self.deployment.connection},
                    'ironic': {
                        'auth_type': 'none',
                        'endpoint_override': self.proxy.url,
                        'shard_key': 's1',
                    },
                },
            )
        )
        conf = new(['--config-file', str(file)], 'test', logs=False)
        wired = wiring.Wiring(conf)
        self.addCleanup(wired.close)
        host, _ = wired.host()
        thread = threading.Thread(target=host.run)
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(host.stop)
        return host

    def refuse(
        self, error: type[exceptions.OwnershipError], uuid: str, *words: str
    ) -> None:
        caught = self.assertRaises(error, self.host.guard, uuid)
        self.assertIs(error, type(caught))
        for word in (*words, uuid):
            self.assertIn(word, str(caught))

    def operator(self, values: str, host: str = 'host1') -> None:
        """Change the row of a service as an operator's command does."""
        with self.deployment.database.engine.begin() as conn:
            conn.exec_driver_sql(
                f"UPDATE services SET {values} WHERE host = '{host}'"
            )

    def test_own_nodes_pass_and_nothing_is_listed(self) -> None:
        service = self.deployment.records.service('host1')
        assert service is not None
        for uuid in (self.deployed, *self.free):
            permission = self.host.guard(uuid)
            self.assertEqual(
                (uuid, service.epoch), (permission.node.uuid, permission.epoch)
            )
            self.assertTrue(permission.is_valid)
        asked = [path for path, _, _ in self.proxy.requests]
        self.assertEqual([], self.proxy.lists)
        self.assertIn(f'/v1/nodes/{self.deployed}', asked)
        for path, query, _ in self.proxy.requests:
            if path.startswith('/v1/nodes/'):
                self.assertEqual({'fields'}, {name for name, _ in query})

    def test_free_node_that_left_the_scope_is_refused(self) -> None:
        first, second = self.free
        self.enrolment.set_shard(first, 's2')
        self.refuse(exceptions.WrongScopeError, first, 'host1', 'shard is s2')
        self.host.guard(second)
        self.enrolment.set_shard(first, 's1')
        self.host.guard(first)

    def test_deployed_node_that_left_the_scope_passes(self) -> None:
        self.enrolment.set_shard(self.deployed, 's2')
        self.assertEqual('s2', self.host.guard(self.deployed).node.shard)

    def test_node_of_another_service_is_refused(self) -> None:
        self.refuse(
            exceptions.NotOwnerError,
            self.foreign,
            'belongs to host2',
            'ironic-ownership compute node move',
        )

    def test_node_that_is_gone_or_never_was_is_refused(self) -> None:
        first, second = self.free
        self.enrolment.delete(first)
        self.refuse(exceptions.NotFoundError, first)
        (new,) = self.enrolment.enrol(1, shard='s1')
        self.refuse(exceptions.NotOwnerError, new, 'unowned')
        self.host.guard(second)

    def test_fenced_service_is_refused_until_it_registers_again(self) -> None:
        for values in (
            'forced_down = 1',
            'fenced = 1',
            'epoch = epoch + 1',
        ):
            self.operator(values)
            self.assertRaises(
                exceptions.FencedError, self.host.guard, self.deployed
            )
            self.operator('forced_down = 0')
            self.wait_until_permitted()

    def wait_until_permitted(self) -> None:
        def permitted() -> bool:
            try:
                return self.host.guard(self.deployed).is_valid
            except exceptions.FencedError:
                return False

        self.deployment.wait_until(permitted, 'permission')

    def test_guard_that_began_before_a_fence_is_refused(self) -> None:
        """Ironic answers after the service has got a new epoch."""
        before = self.host.guard(self.deployed)
        answers: list[object] = []

        def ask() -> None:
            try:
                answers.append(self.host.guard(self.deployed))
            except exceptions.OwnershipError as exc:
                answers.append(exc)

        thread = threading.Thread(target=ask)
        with self.proxy.holding(f'/v1/nodes/{self.deployed}') as asked:
            thread.start()
            self.assertTrue(asked.wait(hosts.TIMEOUT))
            records = self.deployment.records
            for down in (True, False):
                records.set_service('host1', actor='x', forced_down=down)
            self.deployment.wait_until(
                lambda: not self.deployment.service('host1').fenced,
                'registration',
            )
        thread.join()
        self.assertIsInstance(answers[0], exceptions.FencedError)
        self.assertFalse(before.is_valid)
        self.assertRaises(exceptions.FencedError, before.confirm)
        self.wait_until_permitted()

    def test_long_operation_confirms_its_permission(self) -> None:
        permission = self.host.guard(self.deployed)
        first = permission.deadline
        permission.confirm()
        self.assertLess(first, permission.deadline)
        self.operator('fenced = 1')
        self.assertRaises(exceptions.FencedError, permission.confirm)
        self.deployment.wait_until(
            lambda: not permission.is_valid, 'notice of the fence'
        )

    def test_service_that_stops_is_refused(self) -> None:
        self.host.stop()
        self.deployment.wait_until(
            lambda: 'host1' not in self.deployment.members(), 'stop'
        )
        caught = self.assertRaises(
            exceptions.FencedError, self.host.guard, self.deployed
        )
        self.assertIn('has stopped to serve', str(caught))
