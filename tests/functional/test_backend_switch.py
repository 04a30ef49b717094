"""A deployment goes from one membership backend to another, as documented."""

from __future__ import annotations

from tests.functional import test_lives
from tests.functional.support import coordination, hosts

HOSTS = test_lives.HOSTS


class SwitchTest(test_lives.LifeTestCase):
    """From ``db`` to etcd."""

    def setUp(self) -> None:
        super().setUp()
        self.deployment.more = {'membership': test_lives.GRACE}
        self.etcd: hosts.Sections = {
            'ownership': {'backend': 'tooz'},
            'backend_tooz': {
                'backend_url': coordination.server('etcd').url,
                'group': 'switch',
            },
        }

    def test_all_stopped_and_started_moves_nothing(self) -> None:
        running = self.start(*HOSTS)
        owners = test_lives.ring_of(self.enrol()[0], HOSTS)
        self.deployment.wait_for_owners(owners)
        for host in running.values():
            self.assertEqual(0, host.terminate())
        self.assertEqual(
            {True}, {row.away for row in self.deployment.records.services()}
        )
        last = self.last_event()
        for name in HOSTS:
            host = self.deployment.start(name, **self.etcd)
            # Until then its row has the view of the other backend.
            self.deployment.wait_until(
                lambda host=host: host.lines('registered, epoch'),
                'registration',
            )
        self.deployment.wait_until(lambda: self.see_each_other(HOSTS), 'view')
        self.assertEqual(frozenset(), self.deployment.members())
        # Their owner has read all nodes, and knows all hosts.
        new = test_lives.ring_of(self.enrol(12)[0], HOSTS)
        self.deployment.wait_for_owners(owners | new)
        self.assertEqual(
            sorted(new), sorted(str(e.node_uuid) for e in self.changes(last))
        )
