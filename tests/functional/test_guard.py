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
        host = wired.host()
        thread = threading.Thread(target=host.run)
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(host.stop)
        return host

    def refuse(
        self, error: type[exceptions.OwnershipError], uuid: str, *words: str
    ) -> None:
        caught = self.assertRaises(error, self.host.guard.check, uuid)
        self.assertIs(error, type(caught))
        for word in (*words, uuid):
            self.assertIn(word, str(caught))

    def operator(self, values: str, host: str = 'host1') -> None:
        """Change the row of a service as an operator's command does."""
        with self.deployment.database.engine.begin() as conn:
            conn.exec_driver_sql(
                f"UPDATE services SET {values} WHERE host = '{host}'"
            )

    def test_permission_follows_owner_and_scope_and_nothing_is_listed(
        self,
    ) -> None:
        service = self.deployment.records.service('host1')
        assert service is not None
        for uuid in (self.deployed, *self.free):
            permission = self.host.guard.check(uuid)
            self.assertEqual(
                (uuid, service.epoch), (permission.node.uuid, permission.epoch)
            )
            self.assertTrue(permission.is_valid)
        first, second = self.free
        self.enrolment.set_shard(first, 's2')
        self.refuse(exceptions.WrongScopeError, first, 'host1', 'shard is s2')
        self.host.guard.check(second)
        self.enrolment.set_shard(first, 's1')
        self.host.guard.check(first)
        # A deployed node is the service's wherever it is.
        self.enrolment.set_shard(self.deployed, 's2')
        self.assertEqual('s2', self.host.guard.check(self.deployed).node.shard)
        self.refuse(
            exceptions.NotOwnerError,
            self.foreign,
            'belongs to host2',
            'ironic-ownership compute node move',
        )
        asked = [path for path, _, _ in self.proxy.requests]
        self.assertEqual([], self.proxy.lists)
        self.assertIn(f'/v1/nodes/{self.deployed}', asked)
        for path, query, _ in self.proxy.requests:
            if path.startswith('/v1/nodes/'):
                self.assertEqual({'fields'}, {name for name, _ in query})

    def test_fenced_service_is_refused_until_it_registers_again(self) -> None:
        for values in (
            'forced_down = 1',
            'fenced = 1',
            'epoch = epoch + 1',
        ):
            self.operator(values)
            self.assertRaises(
                exceptions.FencedError, self.host.guard.check, self.deployed
            )
            self.operator('forced_down = 0')
            self.wait_until_permitted()

    def wait_until_permitted(self) -> None:
        def permitted() -> bool:
            try:
                return self.host.guard.check(self.deployed).is_valid
            except exceptions.FencedError:
                return False

        self.deployment.wait_until(permitted, 'permission')
