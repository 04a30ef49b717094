"""Hosts that share nodes by the ring: one dies, one freezes, one comes back.

On every database that the records can be in. What must not happen is proven
after each test, by its whole history: see ``laws``.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection

from ironic_ownership.contracts import model
from ironic_ownership.contracts.events import EventFilter, EventKind
from ironic_ownership.policies import ring
from tests.functional import test_dbsync
from tests.functional.support import databases, hosts, member_expiry

HOSTS = ('host1', 'host2', 'host3')
PASSWORD = 'hunter2'


def ring_of(
    uuids: Collection[str], members: Collection[str]
) -> dict[str, str]:
    """Return the ring's owner of each node."""
    owners = ring.Ring(members).owners(uuids)
    return dict(zip(uuids, owners, strict=True))


class _Sharing(hosts.HostsTestCase):
    """Starts hosts and gives them nodes, some of which are deployed."""

    ironic: dict[str, object] = {}
    defaults: dict[str, object] = {}

    def start(self, *names: str) -> dict[str, hosts.Host]:
        """Start hosts and wait until they see each other."""
        started = {name: self.start_again(name) for name in names}
        self.deployment.wait_for_members(*names)
        return started

    def enrol(self, count: int = 24) -> tuple[list[str], set[str]]:
        """Add nodes.

        :returns: all of them, and those that are deployed.
        """
        uuids = self.enrolment.enrol(count, instance_share=0.25)
        return uuids, set(uuids[: round(count * 0.25)])

    def after_death(
        self, before: dict[str, str], deployed: set[str], dead: str
    ) -> dict[str, str]:
        """Say who has to own what when one host is dead."""
        living = set(before.values()) - {dead}
        taken_over = ring_of(list(before), living)
        return {
            uuid: owner
            if owner != dead or uuid in deployed
            else taken_over[uuid]
            for uuid, owner in before.items()
        }

    def assert_dead_host_is_replaced(self) -> None:
        """Kill one of three hosts, and start it again."""
        running = self.start(*HOSTS)
        uuids, deployed = self.enrol()
        shared = ring_of(uuids, HOSTS)
        self.deployment.wait_for_owners(shared)
        running['host1'].kill()
        without = self.after_death(shared, deployed, 'host1')
        self.assertNotEqual(shared, without)
        self.deployment.wait_for_owners(without)
        self.assert_end_is_recorded('host1')
        again = self.start_again('host1')
        self.deployment.wait_for_owners(shared)
        self.assertIsNone(again.process.returncode)
        self.assert_returned_by_release(shared, without)

    def assert_end_is_recorded(self, host: str) -> None:
        """See one death and one fence, with the reason, and the take-over."""

        def recorded() -> list[model.Event]:
            return [
                *self.deployment.records.events(
                    EventFilter(service=host), limit=10_000
                )
            ]

        # Another thread than that which has claimed the nodes writes it.
        self.deployment.wait_until(
            lambda: EventKind.SERVICE_DIED in {e.kind for e in recorded()},
            'record of the death',
        )
        events = recorded()
        for kind in (EventKind.SERVICE_DIED, EventKind.SERVICE_FENCED):
            (event,) = (e for e in events if e.kind == kind)
            self.assertRegex(
                event.reason or '',
                r'^last heartbeat at least [\d.]+ s ago, '
                f'seen missing by {event.actor}$',
            )
        taken = [e for e in events if e.kind == EventKind.NODES_TAKEN_OVER]
        changed = [
            e
            for e in events
            if e.kind == EventKind.OWNER_CHANGED
            and host == e.from_host
            and e.to_host
        ]
        self.assertEqual(
            len(changed),
            sum(int(str(e.reason).partition(' ')[0]) for e in taken),
        )

    def start_again(self, name: str) -> hosts.Host:
        return self.deployment.start(
            name, ironic=self.ironic, DEFAULT=self.defaults
        )

    def assert_returned_by_release(
        self, shared: dict[str, str], without: dict[str, str]
    ) -> None:
        """See each node go back without a third owner."""
        for uuid, owner in shared.items():
            if without[uuid] == owner:
                continue
            changes = [
                (event.from_host, event.to_host)
                for event in self.deployment.events()
                if event.node_uuid == uuid
                and event.kind == EventKind.OWNER_CHANGED
            ]
            self.assertEqual(
                [
                    (None, owner),
                    (owner, without[uuid]),
                    (without[uuid], None),
                    (None, owner),
                ],
                changes,
            )


class TestFailover(_Sharing):
    """On SQLite."""

    def test_listed_hosts_replace_each_other_as_found_ones_do(self) -> None:
        self.ironic = {'peer_list': 'HOST3,host1,host2'}
        self.assert_dead_host_is_replaced()

    def test_restart_inside_the_ttl_stands_by_and_moves_nothing(self) -> None:
        running = self.start('host1', 'host2')
        uuids, _ = self.enrol()
        shared = ring_of(uuids, ('host1', 'host2'))
        self.deployment.wait_for_owners(shared)
        before = self.deployment.events()
        dead = self.deployment.service('host1').incarnation
        running['host1'].kill()
        # However long the next one takes to start.
        with member_expiry.kept(self.deployment, 'host1', dead):
            again = self.start_again('host1')
            self.deployment.wait_until(
                lambda: again.lines(f'stands by for incarnation {dead}'),
                'sign of waiting',
            )
            self.deployment.wait_for_beats('host2', 2)
            self.assertEqual([], again.lines('host1 registered'))
        member_expiry.bury_process(self.deployment, 'host1', dead)
        self.deployment.wait_until(
            lambda: again.lines('host1 registered'), 'return of host1'
        )
        self.assertEqual(1, len(again.lines('stands by for')))
        more, _ = self.enrol()
        shared |= ring_of(more, ('host1', 'host2'))
        self.deployment.wait_for_owners(shared)
        after = self.deployment.events()[len(before) :]
        self.assertEqual(
            {(None, 'host1'), (None, 'host2')},
            {
                (event.from_host, event.to_host)
                for event in after
                if event.kind == EventKind.OWNER_CHANGED
            },
        )

    def test_frozen_host_writes_nothing_with_its_old_epoch(self) -> None:
        both = ('host1', 'host2')
        running = self.start(*both)
        uuids, deployed = self.enrol()
        shared = ring_of(uuids, both)
        self.deployment.wait_for_owners(shared)
        old = self.epoch('host1')
        member_expiry.freeze(self.deployment, running['host1'])
        without = self.after_death(shared, deployed, 'host1')
        self.deployment.wait_for_owners(without)
        # It will want these at once when it wakes up.
        more, _ = self.enrol()
        without |= dict.fromkeys(more, 'host2')
        self.deployment.wait_for_owners(without)
        frozen_until = self.deployment.events()[-1].id
        running['host1'].thaw()
        free = {u: h for u, h in shared.items() if u not in deployed}
        self.deployment.wait_until(
            lambda: free.items() <= self.deployment.owners().items(),
            'return of the free nodes',
        )
        self.assertGreater(self.epoch('host1'), old)
        self.assertEqual(1, len(running['host1'].lines('membership lost')))
        first = next(
            event
            for event in self.deployment.events()
            if event.id > frozen_until and event.actor == 'host1'
        )
        self.assertEqual(EventKind.SERVICE_REGISTERED, first.kind)
        self.assert_silent_while_fenced('host1')

    def assert_silent_while_fenced(self, host: str) -> None:
        events = self.deployment.events()
        fenced = itertools.dropwhile(
            lambda e: (
                (e.kind, e.from_host) != (EventKind.SERVICE_FENCED, host)
            ),
            events,
        )
        own = [event.kind for event in fenced if event.actor == host]
        self.assertEqual(EventKind.SERVICE_REGISTERED, own[0])

    def epoch(self, host: str) -> int:
        services = self.deployment.records.services()
        return next(s.epoch for s in services if s.host == host)


class _OnServer:
    """On a database server; ``kind`` says which."""

    kind: databases.PostgreSQL | databases.MariaDB
    defaults = {'debug': True}

    def setUp(self) -> None:
        super().setUp()
        # Both servers let us in with any password.
        url = self.kind.fresh().replace('@', f':{PASSWORD}@')
        self.deployment = self.deploy(url)
        self.addCleanup(self.assert_password_is_in_no_log)

    def assert_password_is_in_no_log(self) -> None:
        for host in self.deployment.hosts:
            self.assertEqual([], host.lines(PASSWORD))
            self.assertNotIn(PASSWORD, host.output())

    def upgrade(self) -> None:
        done = test_dbsync.run(self.deployment.connection, 'upgrade')
        self.assertEqual(0, done.returncode, done.stderr)

    def test_free_nodes_of_a_dead_host_move_and_return(self) -> None:
        self.upgrade()
        self.assert_dead_host_is_replaced()


class TestFailoverOnPostgreSQL(_OnServer, _Sharing):
    kind = databases.POSTGRESQL


class TestFailoverOnMariaDB(_OnServer, _Sharing):
    kind = databases.MARIADB
