"""The cache of a service's records is the same as reading all of them."""

from __future__ import annotations

import itertools
import random
import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar
from unittest import mock

from hypothesis import HealthCheck, given, settings

from ironic_ownership.contracts import model
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
from ironic_ownership.engine.host.snapshot import RecordCache
from ironic_ownership.engine.ports import Records
from tests.contract.suites import record_history
from tests.contract.suites.records import RecordsContract, claim, node, uuid

HOSTS = ('host1', 'host2', 'host3')
NODES = range(1, 13)
SCOPE = model.Scope(shard='a')


class RecordCacheContract(RecordsContract):
    """Random changes of three services, and of an operator.

    :ivar database: of the records.
    :cvar histories: number of random ones.
    """

    database: connection.Database
    histories: ClassVar[int] = 12

    def setUp(self) -> None:
        super().setUp()
        for host in HOSTS:
            self.register(host)
        self.cache = RecordCache(self.build(), 'host1')
        self.nodes = {n.uuid: n for n in map(node, NODES)}

    def read(self, cache: RecordCache) -> Mapping[str, model.ComputeNode]:
        """Read as a refresh does: first the services."""
        services = {row.host: row for row in cache.records.services()}
        cache.in_reach(SCOPE, services)
        return cache.complete(self.nodes, frozenset())[0]

    def assert_same(self) -> None:
        """Compare with a read of all records."""
        expected = {r.uuid: r for r in self.records.compute_nodes()}
        self.assertEqual(expected, dict(self.read(self.cache)))

    def test_record_that_had_an_owner_between_two_reads_is_seen(self) -> None:
        self.assert_same()
        cache = RecordCache(self.build(), 'host1')
        for number in (1, 2):
            self.applied('host2', claim(number, shard='a'))
            self.applied('host2', Release(uuid(number)))
            self.assert_same()
            services = {row.host: row for row in self.records.services()}
            self.assertEqual(
                set(map(uuid, range(1, number + 1))),
                cache.in_reach(SCOPE, services).keys(),
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

    def assert_only_changes(self, *numbers: int) -> None:
        """Fail if the cache reads more than the changes of these nodes."""
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
            self.assert_same()
        self.assertEqual(set(map(uuid, numbers)), set(found))

    def test_changes_are_read_and_nothing_else(self) -> None:
        self.applied('host1', *map(claim, NODES))
        before = self.read(self.cache)
        self.assertIs(before, self.read(self.cache))
        self.assert_same()
        self.applied(
            'host1',
            Update(node(1, instance_uuid=uuid(901))),
            Report(uuid(2), 'digest'),
            Release(uuid(3)),
            Delete(uuid(4)),
        )
        self.applied('host2', claim(3))
        self.assert_only_changes(1, 2, 3, 4)

    def test_changes_of_many_are_read_by_several_queries(self) -> None:
        for name in ('PAGE', 'SERVICES'):
            self.assert_same()
            for first, host in enumerate(HOSTS):
                changes = [
                    Update(node(n, name=name)) if self.find(n) else claim(n)
                    # Not in the order in which they are read.
                    for n in NODES[first::3][::-1]
                ]
                for some in (changes[:1], changes[1:2], changes[2:]):
                    self.applied(host, *some)
            with mock.patch(f'ironic_ownership.db.records.{name}', 2):
                self.assert_only_changes(*NODES)

    def test_changes_without_a_mark_are_seen(self) -> None:
        self.assert_same()
        with record_history.release_without_marks():
            self.applied('host2', claim(1))
        self.applied('host2', claim(2))
        self.assert_same()
        self.applied('host2', claim(3))
        self.assert_only_changes(3)

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
            with self.subTest(kind):
                self.assert_only_changes(number)

    def test_service_that_is_made_again_is_another_one(self) -> None:
        by, seen = Origin('operator'), SeenOwner('new', 0)
        for number in (1, 2):
            self.records.import_nodes('new', [node(number)], by, create=True)
            self.assert_same()
            self.records.begin_deletion(uuid(number), seen)
            self.assert_same()
            self.records.remove(uuid(number), seen, by)
            self.records.delete_service('new', actor='operator')

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
        changed = node(
            number,
            name=f'name-{choice.random()}',
            shard=choice.choice('ab'),
            instance_uuid=choice.choice((None, uuid(900 + number))),
        )
        changes: list[Change] = [
            Claim(changed, Reason.EXCLUSIVE),
            Update(changed),
            Release(uuid(number)),
            Delete(uuid(number)),
            Report(uuid(number), str(choice.random())),
        ]
        access.apply(host, self.epochs[host], [choice.choice(changes)])
