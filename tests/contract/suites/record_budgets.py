"""Laws of the budget of a deployment, for every implementation."""

from __future__ import annotations

import concurrent.futures

from ironic_ownership.contracts.records import (
    Budget,
    Change,
    Outcome,
    Release,
    Update,
)
from tests.contract.suites.records import RecordsContract, claim, node, uuid

PLACES = [{'shard': shard, 'conductor_group': 'g'} for shard in ('a', 'b') * 4]


class BudgetContract(RecordsContract):
    """Two services with four nodes each, in two shards and one group."""

    def setUp(self) -> None:
        super().setUp()
        for host in ('host1', 'host2'):
            self.register(host)
        for number, place in enumerate(PLACES):
            self.applied(self.host(number), claim(number, **place))

    @staticmethod
    def host(number: int) -> str:
        return 'host1' if number < 4 else 'host2'

    def spend(
        self, budget: Budget, *changes: Change, host: str = 'host1'
    ) -> Outcome:
        outcome = self.records.apply(
            host, self.epochs[host], changes, budget=budget
        )
        self.assertEqual((), outcome.refused)
        self.assertEqual(
            len(changes), len(outcome.applied) + len(outcome.delayed)
        )
        return outcome

    def release(
        self, budget: Budget, *numbers: int, host: str = 'host1'
    ) -> list[int]:
        """Release nodes; return those that were."""
        changes = [Release(uuid(number)) for number in numbers]
        outcome = self.spend(budget, *changes, host=host)
        return [int(change.uuid[-4:]) for change in outcome.applied]

    def taken(self, *numbers: int) -> list[Change]:
        return [self.take(number, **PLACES[number]) for number in numbers]

    def test_rate_counts_over_all_services(self) -> None:
        budget = Budget(rate=3)
        self.assertEqual([0, 1], self.release(budget, 0, 1))
        self.assertEqual([4], self.release(budget, 4, 5, host='host2'))
        outcome = self.spend(budget, Release(uuid(2)))
        self.assertEqual(1, len(outcome.delayed))
        self.assertGreater(outcome.retry_in, 0)
        self.assertLessEqual(outcome.retry_in, 60)

    def test_rate_ignores_what_was_before_the_clock_was_set_back(
        self,
    ) -> None:
        budget = Budget(rate=1)
        self.assertEqual([0], self.release(budget, 0))
        self.assertEqual([], self.release(budget, 1))
        last = self.events('owner_changed')[0]
        self.set_time(last.id, last.at + 3600.0)
        self.assertEqual([1], self.release(budget, 1))

    def test_nodes_of_dead_services_count_for_the_rate_only(self) -> None:
        budget = Budget(rate=1, share=0.0)
        changes = self.taken(0, 1, 2)
        outcome = self.spend(budget, *changes, host='host2')
        self.assertEqual(changes[1:], list(outcome.delayed))
        self.assertEqual(('host2', 'host1'), (self.owner(0), self.owner(1)))
        # They are not unowned in between.
        outcome = self.spend(Budget(share=0.0), *changes[1:], host='host2')
        self.assertEqual((), outcome.delayed)

    def test_budget_delays_nothing_else(self) -> None:
        budget = Budget(rate=1, share=0.0)
        self.release(budget, 0)
        outcome = self.spend(
            budget,
            claim(0, **PLACES[0]),
            claim(20),
            claim(1, seen_host='host1', **PLACES[1]),
            Update(node(2, instance_uuid='i', **PLACES[2])),
        )
        self.assertEqual((), outcome.delayed)
        self.records.set_service('host1', actor='operator', forced_down=True)

    def test_share_counts_in_the_shard_and_in_the_group(self) -> None:
        # Of the four nodes in each shard two, of the eight of the group four.
        budget = Budget(share=0.5)
        self.assertEqual([0, 2], self.release(budget, 0, 2))
        self.assertEqual([], self.release(budget, 4, 6, host='host2'))
        self.assertEqual([5, 7], self.release(budget, 5, 7, host='host2'))
        self.assertEqual([], self.release(budget, 1, 3))
        self.spend(budget, claim(0, **PLACES[0]), host='host2')
        self.assertEqual([], self.release(budget, 1))
        self.assertEqual([4], self.release(budget, 4, 6, host='host2'))

    def test_share_of_few_nodes_lets_one_go(self) -> None:
        budget = Budget(share=0.01)
        self.assertEqual([0], self.release(budget, 0, 1, 2))
        self.assertEqual([], self.release(budget, 5, host='host2'))
        self.spend(budget, claim(0, **PLACES[0]), host='host2')
        self.assertEqual([5], self.release(budget, 5, 6, host='host2'))
        # MariaDB takes this shard for the other one.
        for number, group in ((8, 'h'), (9, 'i')):
            place = {'shard': 'a ', 'conductor_group': group}
            self.applied('host1', claim(number, **place))
        self.assertEqual([8], self.release(budget, 8, 9))

    def test_services_at_the_same_time(self) -> None:
        """One counts what the other one is about to commit."""
        for budget in (Budget(rate=1), Budget(share=0.1)):
            with concurrent.futures.ThreadPoolExecutor(1) as pool:
                self.overtake(budget, pool)
            number = 0 if self.owner(0) is None else 5
            self.applied(self.host(number), claim(number, **PLACES[number]))

    def overtake(
        self, budget: Budget, pool: concurrent.futures.Executor
    ) -> None:
        """Spend the budget while another service is about to commit."""
        port = self.build()
        later: list[concurrent.futures.Future[Outcome]] = []

        def begin_another() -> None:
            change = Release(uuid(5))
            epoch = self.epochs['host2']
            later.append(
                pool.submit(
                    port.apply, 'host2', epoch, [change], budget=budget
                )
            )
            # It waits for this transaction, and so ends after it.
            concurrent.futures.wait(later, timeout=1.0)

        change = Release(uuid(0))
        epoch = self.epochs['host1']
        first = self.records.apply(
            'host1', epoch, [change], confirm=begin_another, budget=budget
        )
        both = first, later[0].result()
        # With several writers the later one may win, and this one repeats.
        applied, delayed = (
            sorted(len(changes) for changes in some)
            for some in zip(
                *((o.applied, o.delayed) for o in both), strict=True
            )
        )
        self.assertEqual(([0, 1], [0, 1]), (applied, delayed))
