"""Laws of the budget: never over it, and always progress."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from ironic_ownership.contracts import model, reasons
from ironic_ownership.contracts.records import Budget, Change, Claim, Release
from ironic_ownership.db.change_transaction import WINDOW
from ironic_ownership.db.records import SqlRecords
from tests.unit.db import sqlite
from tests.unit.engine import world

HOSTS = 'host0', 'host1', 'host2'
NODES = 9

STEPS = st.lists(
    st.tuples(
        st.sampled_from((0.0, 1.0, 25.0, WINDOW)),
        st.sampled_from(HOSTS),
        st.integers(0, NODES - 1),
        st.integers(1, NODES),
    ),
    max_size=15,
)
BUDGETS = st.builds(
    Budget, st.integers(0, 4), st.sampled_from((0.0, 0.2, 0.34, 0.7, 1.0))
)


class BudgetTest(sqlite.SqliteCase):
    """Each service wants the nodes of the others, in three shards."""

    @given(budget=BUDGETS, steps=STEPS)
    @settings(max_examples=12, deadline=None)
    def test_never_over_the_budget_and_always_progress(
        self, budget: Budget, steps: list[tuple[float, str, int, int]]
    ) -> None:
        self.setUp()
        self.now = 1e9
        sqlite.set_clock(self, lambda: self.now)
        self.records = SqlRecords(self.open_with_schema())
        self.epochs = {h: self.records.register(h, world.ALL) for h in HOSTS}
        self.nodes = [
            world.node(n, shard=f's{n % 3}', conductor_group='g')
            for n in range(NODES)
        ]
        self.spent: list[float] = []
        for number, node in enumerate(self.nodes):
            host = HOSTS[number % 3]
            self.apply(host, [Claim(node, reasons.Reason.ASSIGNED)], Budget())
        for seconds, host, first, count in steps:
            self.now += seconds
            some = [*self.nodes[first:], *self.nodes[:first]][:count]
            self.step(host, some, budget)
        for host in HOSTS:
            self.assert_progress(host, budget)
        self.doCleanups()

    def assert_progress(self, host: str, budget: Budget) -> None:
        """Let a service get all nodes, a minute at a time."""
        for _ in range(3 * NODES):
            owners = self.owners()
            if {*owners.values()} == {host}:
                return
            self.now += WINDOW
            for other in HOSTS:
                if other != host:
                    self.step(other, self.nodes, budget, claims=False)
            self.step(host, self.nodes, budget, releases=False)
        self.fail(f'{budget}: {owners}')

    def owners(self) -> dict[str, str | None]:
        return {n.uuid: n.host for n in self.records.compute_nodes()}

    def step(
        self,
        host: str,
        nodes: list[model.Node],
        budget: Budget,
        *,
        claims: bool = True,
        releases: bool = True,
    ) -> None:
        owners = self.owners()
        changes: list[Change] = [
            Release(node.uuid)
            for node in nodes
            if releases and owners[node.uuid] == host
        ]
        changes += [
            Claim(node, reasons.Reason.ASSIGNED)
            for node in nodes
            if claims and owners[node.uuid] is None
        ]
        self.apply(host, changes, budget)
        self.assert_within(budget)

    def apply(self, host: str, changes: list[Change], budget: Budget) -> None:
        outcome = self.records.apply(
            host, self.epochs[host], changes, budget=budget
        )
        self.assertEqual((), outcome.refused)
        released = [c for c in outcome.applied if isinstance(c, Release)]
        self.spent += [self.now] * len(released)

    def assert_within(self, budget: Budget) -> None:
        recent = [at for at in self.spent if at > self.now - WINDOW]
        if budget.rate:
            self.assertLessEqual(len(recent), budget.rate)
        if budget.share < 1:
            owners = self.owners()
            places: dict[str, list[str]] = {'group': [*owners]}
            for node in self.nodes:
                places.setdefault(str(node.shard), []).append(node.uuid)
            for uuids in places.values():
                unowned = sum(owners[uuid] is None for uuid in uuids)
                allowed = max(1, int(budget.share * len(uuids)))
                self.assertLessEqual(unowned, allowed)
