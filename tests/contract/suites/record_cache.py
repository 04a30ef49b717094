"""The cache of a service's records is the same as reading all of them."""

from __future__ import annotations

import contextlib
import itertools
import random
import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar
from unittest import mock

from hypothesis import HealthCheck, given, settings

from ironic_ownership.contracts import (
    exceptions,
    model,
    moves,
)
from ironic_ownership.contracts.events import Origin
from ironic_ownership.contracts.reasons import Reason
from ironic_ownership.contracts.records import (
    Change,
    Claim,
    Delete,
    Release,
    Report,
    SeenOwner,
    Update,
)
from ironic_ownership.db import connection
from ironic_ownership.db.moves import SqlMoves
from ironic_ownership.db.node_imports import SqlNodeImports
from ironic_ownership.db.removals import SqlRemovals
from ironic_ownership.engine.host.snapshot import RecordCache
from ironic_ownership.engine.ports import Records
from tests.contract.suites import record_history, records

HOSTS = ('host1', 'host2', 'host3')
NODES = range(1, 13)
SCOPE = model.Scope(shard='a')


class RecordCacheContract(records.RecordsContract):
    """Random changes of three services, and of an operator.

    :ivar database: of the records.
    :cvar histories: number of random ones.
    """

    database: connection.Database
    histories: ClassVar[int] = 12

    def make_moves(self) -> SqlMoves:
        """Return an access to the moves of this test's records."""
        raise NotImplementedError

    def setUp(self) -> None:
        super().setUp()
        self.moves = self.make_moves()
        self.epochs = {host: self.register(host) for host in HOSTS}
        self.cache = RecordCache(self.build(), 'host1')
        self.nodes = {n.uuid: n for n in map(records.node, NODES)}

    def read(self, cache: RecordCache) -> Mapping[str, model.ComputeNode]:
        """Read as a refresh does: first the services."""
        services = {row.host: row for row in cache.records.services()}
        cache.in_reach(SCOPE, services)
        return cache.complete(self.nodes, frozenset())[0]

    def assert_same(self) -> None:
        """Compare with a read of all records."""
        expected = {r.uuid: r for r in self.records.compute_nodes()}
        self.assertEqual(expected, dict(self.read(self.cache)))

    def test_every_change_of_a_record_is_seen(self) -> None:
        choice = random.Random(16)
        for step in range(60):
            host, number = choice.choice(HOSTS), choice.choice(NODES)
            if step % 10 == 9:
                self._move(number, host)
            else:
                self._change(self.records, host, number, choice)
            # Several changes between two reads, of one node as well.
            if choice.random() < 0.5:
                self.assert_same()

    def test_record_that_had_an_owner_between_two_reads_is_seen(self) -> None:
        self.assert_same()
        uuid, epoch = records.uuid(1), self.epochs['host2']
        claim = records.claim(1, shard='a')
        self.assert_applied('host2', epoch, claim)
        self.assert_applied('host2', epoch, Release(uuid))
        self.assert_same()
        services = {row.host: row for row in self.records.services()}
        cache = RecordCache(self.build(), 'host1')
        cache.in_reach(SCOPE, services)
        self.assert_applied('host2', epoch, records.claim(2, shard='a'))
        self.assert_applied('host2', epoch, Release(records.uuid(2)))
        services = {row.host: row for row in self.records.services()}
        self.assertEqual(
            {uuid, records.uuid(2)}, cache.in_reach(SCOPE, services).keys()
        )

    def test_cache_is_as_a_full_read_after_any_history(self) -> None:
        @settings(
            deadline=None,
            derandomize=True,
            max_examples=self.histories,
            suppress_health_check=list(HealthCheck),
        )
        @given(record_history.STEPS)
        def check(steps: Sequence[record_history.Step]) -> None:
            self._check_history(steps)

        check()

    def _check_history(self, steps: Sequence[record_history.Step]) -> None:
        history = record_history.History(self.database, self.records)
        readers = [
            (RecordCache(self.records, host), scope)
            for host in HOSTS[:2]
            for scope in (SCOPE, model.Scope(nothing=True))
        ]
        for step, following in itertools.pairwise([None, *steps, None]):
            if step is not None:
                history.carry_out(step)
            # A row of a service that no reader has seen leaves no trace if
            # it is lost: no service deletes one that names nodes.
            is_lost = following and following.kind == 'lose_service'
            if step and following and not (step.is_read or is_lost):
                continue
            services = {row.host: row for row in self.records.services()}
            for cache, scope in readers:
                self.assertEqual(
                    {
                        r.uuid: r
                        for r in self.records.in_reach(cache.host, scope)
                    },
                    dict(cache.in_reach(scope, services)),
                    (cache.host, scope),
                )
            self.assert_same()

    def test_changes_are_read_and_nothing_else(self) -> None:
        epoch, other = self.epochs['host1'], self.epochs['host2']
        for number in NODES:
            self.assert_applied('host1', epoch, records.claim(number))
        self.assert_same()
        instance = records.node(1, instance_uuid=records.uuid(901))
        self.assert_applied('host1', epoch, Update(instance))
        self.assert_applied('host1', epoch, Report(records.uuid(2), 'digest'))
        self.assert_applied('host1', epoch, Release(records.uuid(3)))
        self.assert_applied('host1', epoch, Delete(records.uuid(4)))
        self.assert_applied('host2', other, records.claim(3))
        with self.only_changes() as found:
            self.assert_same()
        self.assertEqual(
            {records.uuid(n) for n in (1, 2, 3, 4)},
            set(found),
        )

    def test_many_changes_are_read_in_pages(self) -> None:
        self.assert_same()
        for number in NODES:
            for host in HOSTS[1:]:
                if number % 2 == HOSTS.index(host) % 2:
                    self.assert_applied(
                        host, self.epochs[host], records.claim(number)
                    )
        with (
            mock.patch('ironic_ownership.db.records.PAGE', 2),
            self.only_changes() as found,
        ):
            self.assert_same()
        self.assertEqual({records.uuid(n) for n in NODES}, set(found))

    def test_changes_of_many_services_are_read_by_several_queries(
        self,
    ) -> None:
        self.assert_same()
        for number, host in zip(NODES, HOSTS, strict=False):
            self.assert_applied(host, self.epochs[host], records.claim(number))
        with (
            mock.patch('ironic_ownership.db.records.SERVICES', 2),
            self.only_changes() as found,
        ):
            self.assert_same()
        self.assertEqual(len(HOSTS), len(found))

    def test_changes_without_a_mark_are_seen(self) -> None:
        self.assert_same()
        with record_history.release_without_marks():
            self.assert_applied(
                'host2', self.epochs['host2'], records.claim(1)
            )
        self.assert_applied('host2', self.epochs['host2'], records.claim(2))
        self.assert_same()
        self.assert_applied('host2', self.epochs['host2'], records.claim(3))
        with self.only_changes() as found:
            self.assert_same()
        self.assertEqual([records.uuid(3)], found)

    def test_changes_that_concern_no_service_are_seen(self) -> None:
        history = record_history.History(self.database, self.records)

        def carry_out(kind: str, number: int, host: str = 'host3') -> None:
            history.carry_out(
                record_history.Step(
                    kind, host, number, 'a', has_instance=False, is_read=True
                )
            )

        carry_out('deploy', 3)
        carry_out('reserve', 4)
        for host in HOSTS[1:]:
            carry_out('lose_service', 1, host)
        self.assert_same()
        for kind, number in (
            ('hand_over', 3),
            ('remove', 3),
            ('end_reservation', 4),
            ('forget_instance', 2),
        ):
            carry_out(kind, number)
            with self.only_changes() as found:
                self.assert_same()
            self.assertEqual([records.uuid(number)], found, kind)

    def test_service_that_is_made_again_is_another_one(self) -> None:
        imports, by = SqlNodeImports(self.database), Origin('operator')
        for number in (1, 2):
            imports.claim('new', [records.node(number)], by, create=True)
            self.assert_same()
            removals, uuid = SqlRemovals(self.database), records.uuid(number)
            seen = SeenOwner('new', 0)
            removals.begin_deletion(uuid, seen)
            self.assert_same()
            removals.remove(uuid, seen, by)
            self.records.delete_service('new', actor='operator')

    @contextlib.contextmanager
    def only_changes(self) -> Iterator[list[str]]:
        """Fail if the cache reads more; collect the uuids that it reads."""
        found: list[str] = []
        read = self.cache.records.compute_nodes_changed

        def collected(since: Mapping[str, int]) -> Iterator[Any]:
            for page in read(since):
                found.extend(page)
                yield page

        with mock.patch.multiple(
            self.cache.records,
            in_reach=mock.Mock(side_effect=AssertionError),
            compute_nodes_changed=collected,
        ):
            yield found

    def test_nothing_changed_is_the_same_object_and_one_query_less(
        self,
    ) -> None:
        for number in NODES:
            self.assert_applied(
                'host1', self.epochs['host1'], records.claim(number)
            )
        before = self.read(self.cache)
        self.assertIs(before, self.read(self.cache))

    def test_commits_of_concurrent_writers_are_never_lost(self) -> None:
        accesses = {host: self.build() for host in HOSTS}
        for turn in range(8):
            threads = [
                threading.Thread(target=self._write, args=(access, host, turn))
                for host, access in accesses.items()
            ]
            for thread in threads:
                thread.start()
            while any(thread.is_alive() for thread in threads):
                self.read(self.cache)
            for thread in threads:
                thread.join()
            self.assert_same()

    def _write(self, access: Records, host: str, turn: int) -> None:
        choice = random.Random(f'{host} {turn}')
        for _ in range(4):
            self._change(access, host, choice.choice(NODES), choice)

    def _change(
        self, access: Records, host: str, number: int, choice: random.Random
    ) -> None:
        uuid = records.uuid(number)
        node = records.node(
            number,
            name=f'name-{choice.random()}',
            shard=choice.choice('ab'),
            instance_uuid=choice.choice((None, records.uuid(900 + number))),
        )
        changes: list[Change] = [
            Claim(node, Reason.EXCLUSIVE),
            Update(node),
            Release(uuid),
            Delete(uuid),
            Report(uuid, str(choice.random())),
        ]
        access.apply(host, self.epochs[host], [choice.choice(changes)])

    def _move(self, number: int, to: str) -> None:
        found = self.find(number)
        if found is None or found.host is None:
            return
        epoch = self.service(found.host).epoch
        node = moves.NodeMove(
            found.uuid, found.host, epoch, found.instance_uuid
        )
        request_id = f'req-{number}-{to}-{self.service(to).revision}'
        self.moves.plan(
            moves.Move(request_id, to, 'operator', 'because', ()), [node]
        )
        for result in self.moves.carry_out(request_id, [node]):
            self._restore_right(result)

    def _restore_right(self, result: Any) -> None:
        """Register services again that the move has fenced."""
        for host in HOSTS:
            try:
                self.records.apply(host, self.epochs[host], [])
            except exceptions.FencedError:
                self.epochs[host] = self.register(host)
