"""Laws of purging, on every database."""

from __future__ import annotations

import dataclasses
from unittest import mock

import sqlalchemy as sa

from ironic_ownership.contracts import model, moves
from ironic_ownership.contracts.records import Delete, Update
from ironic_ownership.db import connection, heartbeats, purge, tables
from tests.contract.suites.moves import MoveCase
from tests.contract.suites.records import RecordsContract, claim, node, uuid

DAY = 86400.0
_TIMES = {
    tables.events: ('at',),
    tables.moves: ('created_at',),
    tables.node_moves: ('updated_at',),
    tables.instances: ('created_at', 'deleted_at'),
    tables.reservations: ('created_at', 'updated_at'),
    tables.compute_nodes: ('created_at', 'updated_at', 'deleted_at'),
}


class PurgeContract(RecordsContract):
    """History of two days ago is purged, and that of today stays."""

    database: connection.Database

    seen = MoveCase.seen
    planned = MoveCase.planned
    ids = MoveCase.ids

    def setUp(self) -> None:
        super().setUp()
        self.moves = self.make_moves()
        self.register('host1')
        self.register('host2')

    def age(self, days: float = 2) -> None:
        """Make everything on record older, all of one moment."""
        at = float(int(purge.now(self.database) - days * DAY))

        def work(conn: sa.Connection) -> None:
            for table, names in _TIMES.items():
                conn.execute(
                    sa.update(table).values(
                        {n: table.c[n] * 0 + at for n in names}
                    )
                )

        self.database.write(work)
        self.assertEqual({0}, set(purge.count(self.database, at).values()))

    def purge(self, batch: int = purge.BATCH) -> dict[str, int]:
        """Purge what is older than a day; return what was deleted.

        A dry run before has to announce it, and another one nothing more.
        """
        before = purge.now(self.database) - DAY
        announced = purge.count(self.database, before)
        done = purge.run(self.database, before, batch)
        self.assertEqual(announced, done)
        self.assertEqual({0}, set(purge.count(self.database, before).values()))
        return {name: number for name, number in done.items() if number}

    def use(self, *numbers: int) -> None:
        """Let nodes get an instance and lose it."""
        for n in numbers:
            used = claim(n, instance_uuid=uuid(900 + n))
            self.applied('host1', used, Update(node(n)))

    def join(self, host: str, incarnation: str, ttl: float) -> None:
        url = self.database.engine.url.render_as_string(hide_password=False)
        member = heartbeats.DatabaseBackend(
            {'connection': url}, member_ttl=ttl, call_timeout=60
        )
        self.addCleanup(member.close)
        member.join(host, incarnation, model.MemberSettings(()))

    def test_members_that_will_not_return_go(self) -> None:
        """A host whose name no process has again leaves rows for ever."""
        for host, incarnation, ttl in (
            ('gone1', 'i', -2 * DAY),
            ('gone2', 'i', -2 * DAY),
            ('today', 'i', -3600.0),
            ('on', 'i', 60.0),
        ):
            self.join(host, incarnation, ttl)
        self.assertEqual({'expired members': 2}, self.purge(batch=1))
        # One that expired today stays even if all is purged.
        purge.run(self.database, purge.now(self.database))
        left = {one.member.host for one in heartbeats.last(self.database)}
        self.assertEqual({'today', 'on'}, left)

    def test_old_history_goes_and_new_history_stays(self) -> None:
        self.use(1, 2, 3)
        opened = claim(5, instance_uuid=uuid(905))
        self.applied('host1', opened)
        self.age()
        self.use(4)
        before = self.records.compute_nodes()
        services = self.records.services()
        # Not all are found at once.
        with mock.patch.object(purge, '_FOUND', 4):
            done = self.purge()
        self.assertEqual({'events': 13, 'closed instances': 3}, done)
        self.assertEqual(3, len(self.records.events()))
        self.assertCountEqual(before, self.records.compute_nodes())
        self.assertEqual(services, self.records.services())
        self.assertEqual({}, self.purge())

    def test_old_rows_are_looked_for_once_and_not_for_each_batch(self) -> None:
        self.use(*range(1, 8))
        self.age()
        asked: list[str] = []
        sa.event.listen(
            self.database.engine,
            'before_cursor_execute',
            lambda *args: asked.append(args[2]),
        )
        before = purge.now(self.database) - DAY
        # The number of rows is no multiple of the batch.
        done = purge.run(self.database, before, batch=5)
        self.assertEqual(23, done['events'])
        self.assertEqual({0}, set(purge.count(self.database, before).values()))
        found = [text for text in asked if text.startswith('SELECT events.id')]
        self.assertEqual(1, len(found))

    def test_last_epoch_of_a_deleted_service_stays(self) -> None:
        for _ in range(3):
            last = self.register('host3')
        self.records.delete_service('host3', actor='x')
        self.age()
        self.purge()
        (event,) = self.events(service='host3')
        self.assertEqual('service_deleted', event.kind)
        self.assertGreater(self.register('host3'), last)

    def test_deleted_node_goes_and_may_return(self) -> None:
        self.use(1)
        self.applied('host1', Delete(uuid(1)), claim(3), Delete(uuid(3)))
        self.age()
        self.use(2)
        self.applied('host1', Delete(uuid(2)))
        done = {
            'events': 8,
            'closed instances': 1,
            'deleted compute nodes': 2,
        }
        self.assertEqual(done, self.purge())
        self.applied('host1', claim(1), claim(2))
        self.assertEqual('host1', self.owner(1))

    def test_deleted_node_stays_with_a_young_instance(self) -> None:
        self.use(1)
        self.applied('host1', Delete(uuid(1)))
        self.age()
        statement = sa.update(tables.instances).values(
            deleted_at=purge.now(self.database)
        )
        self.database.write(lambda conn: conn.execute(statement))
        self.assertEqual({'events': 6}, self.purge())

    def test_finished_move_goes_and_one_to_resume_stays(self) -> None:
        self.applied('host1', *map(claim, range(1, 5)))
        self.records.set_service('host1', actor='x', disabled=True)
        finished = self.planned(self.seen(1), self.seen(2))
        self.moves.carry_out(finished, [self.seen(1), self.seen(2)])
        half = self.planned(self.seen(3), self.seen(4))
        self.moves.carry_out(half, [self.seen(3)])
        self.age()
        young = self.planned(self.seen(4))
        self.moves.refuse(young, {uuid(4): 'x'})
        done = self.purge(batch=1)
        self.assertEqual((2, 1), (done['nodes of moves'], done['moves']))
        self.assertEqual({half, young}, set(self.ids()))
        (moved,) = self.moves.carry_out(half, [self.seen(4)])
        self.assertEqual(moves.NodeState.MOVED, moved.state)

    def test_move_with_a_trial_to_verify_stays(self) -> None:
        self.applied('host1', claim(1))
        self.records.set_service('host1', actor='x', disabled=True)
        seen = dataclasses.replace(self.seen(1), trial=moves.Trial.FIRST)
        tried = self.planned(seen)
        self.moves.carry_out(tried, [seen])
        self.age()
        self.assertNotIn('moves', self.purge())
        self.assertEqual([tried], self.ids(unfinished=True))
        self.moves.pass_trial(tried)
        self.assertEqual(1, self.purge()['moves'])

    def test_open_reservation_stays(self) -> None:
        row = {
            'host': 'host1',
            'method': 'update',
            'request': '{}',
            'confirmed': False,
            'created_at': 1.0,
            'updated_at': 1.0,
        }
        rows = [
            {
                **row,
                'id': uuid(n),
                'instance_uuid': uuid(n),
                'open_instance_uuid': opened,
                'state': state,
            }
            for n, state, opened in (
                (1, 'closed', None),
                (2, 'active', uuid(2)),
                (3, 'deleting', uuid(3)),
            )
        ]
        statement = sa.insert(tables.reservations)
        self.database.write(lambda conn: conn.execute(statement, rows))
        self.assertEqual({'closed reservations': 1}, self.purge())
