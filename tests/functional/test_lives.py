"""One life of a deployment for each promised database and store of members.

Services share nodes by a ring: they enrol, serve, die, are replaced, return,
restart, move nodes and end. What must not happen is proven at the end, by the
whole history: see ``laws``.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable

from ironic_ownership.contracts import model
from ironic_ownership.contracts.events import EventFilter, EventKind
from ironic_ownership.policies import peer_list
from tests.functional import test_dbsync
from tests.functional.support import coordination, databases, hosts

HOSTS = ('host1', 'host2', 'host3')
PASSWORD = 'hunter2'
GRACE = {'restart_grace': 600}

_groups = itertools.count(1)


def ring_of(
    uuids: Collection[str], members: Collection[str]
) -> dict[str, str]:
    """Return the ring's owner of each node."""
    owners = peer_list.Ring(members).owners(uuids)
    return dict(zip(uuids, owners, strict=True))


class LifeTestCase(hosts.HostsTestCase):
    """Starts hosts, gives them nodes, and reads what became of both."""

    ironic: dict[str, object] = {}

    def start(self, *names: str) -> dict[str, hosts.Host]:
        """Start hosts, and wait until they see each other.

        A service that is alone would keep all nodes with an instance.
        """
        started = {name: self.begin(name) for name in names}
        self.deployment.wait_until(
            lambda: self.see_each_other(names), f'members {names}'
        )
        return started

    def begin(self, name: str) -> hosts.Host:
        return self.deployment.start(name, ironic=self.ironic)

    def see_each_other(self, names: Collection[str]) -> bool:
        """Tell whether all have the same view; each is in its own."""
        rows = self.deployment.records.services()
        views = {row.view_checksum for row in rows if row.host in names}
        return (
            len(rows) >= len(names) and len(views) == 1 and None not in views
        )

    def enrol(self, count: int = 24) -> tuple[list[str], set[str]]:
        """Add nodes; return them, and those that are deployed."""
        uuids = self.enrolment.enrol(count, instance_share=0.25)
        return uuids, set(uuids[: count // 4])

    def changes(self, after: int = 0) -> list[model.Event]:
        return [
            event
            for event in self.deployment.events()
            if event.kind == EventKind.OWNER_CHANGED and event.id > after
        ]

    def last_event(self) -> int:
        return self.deployment.events()[-1].id

    def operate(self, *words: str) -> None:
        done = self.deployment.operate(*words, '--yes')
        # 4: what may differ from Ironic by now is named.
        self.assertIn(done.returncode, (0, 4), done)


class RingLife:
    """On SQLite, with the members in the same database."""

    ironic = {'peer_list': 'HOST3,host1,host2'}

    def url(self) -> str | None:
        return None

    def store(self) -> hosts.Sections:
        return {}

    def setUp(self) -> None:
        super().setUp()
        if url := self.url():
            # The servers let us in with any password.
            url = url.replace('@', f':{PASSWORD}@')
            self.deployment = self.deploy(url)
            self.addCleanup(self.assert_password_is_in_no_log)
            done = test_dbsync.run(url, 'upgrade')
            self.assertEqual(0, done.returncode, done.stderr)
        self.deployment.more = {
            **self.store(),
            'membership': GRACE,
            'DEFAULT': {'debug': True},
        }

    def assert_password_is_in_no_log(self) -> None:
        for host in self.deployment.hosts:
            self.assertEqual([], host.lines(PASSWORD))
            self.assertNotIn(PASSWORD, host.output())

    def test_life_of_a_deployment(self) -> None:
        running = self.start(*HOSTS)
        uuids, deployed = self.enrol()
        shared = ring_of(uuids, HOSTS)
        self.deployment.wait_for_owners(shared)
        self.die_and_return(running, shared, deployed)
        self.restart(running['host2'], shared)
        self.move(shared, deployed)
        # A node that Ironic does not have any more.
        (gone,) = uuids[-1:]
        self.enrolment.delete(gone)
        self.deployment.wait_until(
            lambda: gone not in self.deployment.owners(), 'oblivion'
        )

    def die_and_return(
        self,
        running: dict[str, hosts.Host],
        shared: dict[str, str],
        deployed: set[str],
    ) -> None:
        """Kill one of three hosts, and start it again."""
        running['host1'].kill()
        replaced = ring_of([*shared], HOSTS[1:])
        without = {
            uuid: replaced[uuid]
            if owner == 'host1' and uuid not in deployed
            else owner
            for uuid, owner in shared.items()
        }
        self.assertNotEqual(shared, without)
        self.deployment.wait_for_owners(without)
        self.assert_end_is_recorded('host1')
        self.begin('host1')
        self.deployment.wait_for_owners(shared)
        # Each went back without a third owner.
        story: dict[str, list[tuple[str | None, str | None]]] = {}
        for event in self.changes():
            story.setdefault(str(event.node_uuid), []).append(
                (event.from_host, event.to_host)
            )
        for uuid, owner in shared.items():
            other = without[uuid]
            self.assertEqual(
                [(None, owner)]
                if owner == other
                else [
                    (None, owner),
                    (owner, other),
                    (other, None),
                    (None, owner),
                ],
                story[uuid],
            )

    def assert_end_is_recorded(self, host: str) -> None:
        """See one death and one fence, with the reason, and the take-over."""

        def recorded(*kinds: EventKind) -> list[model.Event]:
            found = self.deployment.records.events(
                EventFilter(service=host), limit=10_000
            )
            return [event for event in found if event.kind in kinds]

        # Another thread than that which has claimed the nodes writes it.
        self.deployment.wait_until(
            lambda: recorded(EventKind.SERVICE_DIED), 'record of the death'
        )
        for kind in (EventKind.SERVICE_DIED, EventKind.SERVICE_FENCED):
            (event,) = recorded(kind)
            self.assertRegex(
                event.reason or '',
                r'^last heartbeat at least [\d.]+ s ago, '
                f'seen missing by {event.actor}$',
            )
        taken = recorded(EventKind.NODES_TAKEN_OVER)
        changed = recorded(EventKind.OWNER_CHANGED)
        self.assertEqual(
            len([e for e in changed if e.from_host == host and e.to_host]),
            sum(int(str(e.reason).partition(' ')[0]) for e in taken),
        )

    def restart(self, host: hosts.Host, shared: dict[str, str]) -> None:
        """Stop and start a service: its nodes wait for it."""
        last = self.last_event()
        self.assertEqual(0, host.terminate())
        self.assertEqual('', host.output())
        self.assertTrue(self.deployment.service(host.name).away)
        again = self.begin(host.name)
        self.deployment.wait_until(
            lambda: again.lines('registered, epoch'), 'registration'
        )
        more, _ = self.enrol(8)
        shared |= ring_of(more, HOSTS)
        self.deployment.wait_until(
            lambda: self.deployment.owners().keys() == shared.keys(), 'owners'
        )
        self.assertEqual(
            set(more), {event.node_uuid for event in self.changes(last)}
        )

    def move(self, shared: dict[str, str], deployed: set[str]) -> None:
        """Move the deployed nodes of a service, and delete the service."""
        self.operate('service', 'set', 'host3', '--down')
        self.deployment.wait_until(
            lambda: (
                self.deployment.owned_by('host3')
                <= {n.uuid for n in self.instances()}
            ),
            'free nodes of others',
        )
        self.operate(
            *('compute', 'node', 'move', '--all', '--from', 'host3'),
            *('--service', 'host1'),
        )
        self.assertEqual(set(), self.deployment.owned_by('host3'))
        moved = {u for u in deployed if shared[u] == 'host3'}
        self.assertLessEqual(moved, self.deployment.owned_by('host1'))
        (host,) = (
            h
            for h in self.deployment.hosts
            if h.name == 'host3' and h.process.returncode is None
        )
        self.assertEqual(0, host.terminate())
        self.operate('service', 'delete', 'host3')

    def instances(self) -> Iterable[model.ComputeNode]:
        nodes = self.deployment.records.compute_nodes()
        return [node for node in nodes if node.instance_uuid]


class TestRingOnSqlite(RingLife, LifeTestCase):
    pass


class TestRingOnPostgreSQL(RingLife, LifeTestCase):
    ironic = {}

    def url(self) -> str:
        return databases.POSTGRESQL.fresh()


class TestRingOnMariaDB(TestRingOnPostgreSQL):
    def url(self) -> str:
        return databases.MARIADB.fresh()


class TestRingOnEtcd(TestRingOnPostgreSQL):
    """The members on another store than the records."""

    kind = 'etcd'

    def store(self) -> hosts.Sections:
        return {
            'ownership': {'backend': 'tooz'},
            'backend_tooz': {
                'backend_url': coordination.server(self.kind).url,
                'group': f'life-{next(_groups)}',
            },
        }


class TestRingOnZooKeeper(TestRingOnEtcd):
    kind = 'zookeeper'


class TestRingOnRedis(TestRingOnEtcd):
    kind = 'redis'
