"""Refreshes that decide only what is affected, against refreshes of all."""

from __future__ import annotations

import dataclasses
import random
from unittest import mock

from ironic_ownership.contracts import exceptions, model, options, policy
from ironic_ownership.engine.decision import peer_groups
from ironic_ownership.engine.host.fleet_reader import FleetReader
from ironic_ownership.engine.host.reconcile_plan import Plan
from ironic_ownership.engine.host.refresh_result import Summary
from ironic_ownership.engine.host.snapshot import RecordCache
from tests.unit.engine import service, world

RING = world.runs(peer_list=())
SHARD_A = world.runs(shard_key='a')
GROUP = world.runs(conductor_group='g')
NODES = range(1, 31)
DOWN = exceptions.IronicUnavailableError('down')


class Faulty(policy.AssignerPolicy):
    """Fails where the test says so."""

    contract_version = 1
    rebalancing = True
    node_by_node = True
    fails = ''

    def peers(self, host, candidates, scope):
        if self.fails == 'peers':
            raise LookupError('no peers')
        return frozenset(candidates)

    def assign(self, nodes, hosts):
        if self.fails == 'assign':
            raise LookupError('no owners')
        return [hosts[0] for _ in nodes]


class Keeps(policy.AssignerPolicy):
    """Keeps the owner on record; a free node goes by the weights."""

    contract_version = 2
    rebalancing = True
    node_by_node = True
    reads_owners = True
    options = (
        options.Option(
            'weight',
            options.OptionType.INTEGER,
            'Weight.',
            default=1,
            per_member=True,
        ),
    )

    def choose(self, request):
        heavy = max(request.peers, key=_by_weight).host
        found = (request.owners.get(node.uuid) for node in request.nodes)
        return [
            policy.Choice(owner if owner in request.hosts else heavy)
            for owner in found
        ]


def _by_weight(peer: policy.Peer) -> tuple[int, str]:
    return int(str(peer.values['weight'])), peer.host


class Owned(policy.FilterPolicy):
    """Admits nodes of a project: a field that is requested."""

    contract_version = 2
    node_fields = ('owner',)

    def admits(self, node):
        return node.fields.get('owner') != 'other'


CLASSES = {'faulty': Faulty, 'keeps': Keeps, 'owned': Owned}
FAULTY = world.runs(shard_key='b', faulty=None)


def keeps(weight: int) -> model.MemberSettings:
    """Return settings of contract version 2."""
    return dataclasses.replace(
        world.runs(owned=None, keeps=None),
        contract_version=2,
        values=(model.PolicySettings.of('keeps', {'weight': weight}),),
    )


def summary_of(plan: Plan) -> tuple[object, ...]:
    """Return what a plan reports, in no order."""
    return (
        plan.waiting,
        plan.deferred,
        plan.suspects,
        {host: sorted(uuids) for host, uuids in plan.withheld.items()},
        sorted(plan.contested),
        sorted(plan.filtered),
    )


class AffectedCase(service.ServiceCase):
    def setUp(self) -> None:
        super().setUp()
        self.enterContext(mock.patch.dict(world.CLASSES, CLASSES))
        self.enterContext(mock.patch.object(Faulty, 'fails', ''))
        self.ironic.clock = self.shared.clock
        self.shared.clock.elapse(100_000)
        for number in NODES:
            self.ironic.put(world.node(number, shard='a'))
        self.decided: list[int] = []

    def follow(self, host: service.Service) -> None:
        """Let a service read and decide only what is affected."""
        host.read_changes()
        plan = host.reconciler.plan

        def counted(*args, **kwargs):
            self.decided.append(len(args[0]))
            return plan(*args, **kwargs)

        host.reconciler.plan = counted

    def settle(self, *hosts: service.Service) -> None:
        """Refresh until conductors are long known and nothing changes."""
        for _ in range(4):
            self.elapse(*hosts)
            for host in hosts:
                host.refresh()

    def elapse(self, *hosts: service.Service) -> None:
        for _ in range(10):
            self.shared.clock.elapse(6)
            for host in hosts:
                host.beat()


class TestSteadyRefresh(AffectedCase):
    def setUp(self) -> None:
        super().setUp()
        self.host = self.start('host1', RING)
        self.follow(self.host)
        self.settle(self.host)
        self.decided.clear()

    def test_nothing_changed_is_nothing_decided_or_read(self) -> None:
        self.ironic.calls.clear()
        with mock.patch.object(
            self.records, 'in_reach', side_effect=AssertionError
        ):
            summary = self.host.refresh()
        self.assertEqual([0], self.decided)
        self.assertEqual(
            (30, 30, 0), (summary.nodes, summary.owned, summary.applied)
        )
        self.assertEqual(
            ['latest_changes', 'shard_counts', 'conductors'],
            [method for method, _ in self.ironic.calls],
        )

    def test_changed_nodes_are_decided_and_written(self) -> None:
        for number in (3, 4):
            self.ironic.put(world.node(number, instance_uuid=f'i{number}'))
        self.assertEqual(2, self.host.refresh().applied)
        self.assertEqual('i3', self.instances()[3])
        # Then their records differ.
        self.assertEqual(0, self.host.refresh().applied)
        self.assertEqual(0, self.host.refresh().applied)
        self.assertEqual([2, 2, 0], self.decided)

    def test_conductor_that_dies_concerns_all_nodes(self) -> None:
        self.ironic.workers = [model.Conductor('c', '', frozenset({'x'}))]
        self.host.refresh()
        for record in self.records.compute_nodes():
            self.assertEqual('out_of_service', record.unavailable)

    def test_error_forgets_what_was_decided(self) -> None:
        self.ironic.failures['latest_changes'] = DOWN
        self.assertRaises(type(DOWN), self.host.refresh)
        self.ironic.failures.clear()
        self.host.refresh()
        self.assertEqual([30], self.decided)

    def test_error_after_the_nodes_were_read_hides_no_change(self) -> None:
        self.ironic.put(world.node(3, shard='a', properties={'cpus': 64}))
        with mock.patch.object(
            self.host.refresher, '_store_status', side_effect=DOWN
        ):
            self.assertRaises(type(DOWN), self.host.refresh)
        self.assertEqual(0, self.host.refresh().applied)
        view = self.host.feed.owned()[world.uuid(3)]
        self.assertEqual({'cpus': 64}, view.node.properties)

    def test_unexpected_error_forgets_it_as_well(self) -> None:
        conductors = [
            model.Conductor(name, '', frozenset({driver}))
            for name, driver in (('one', ''), ('two', 'x'))
        ]
        self.ironic.workers = conductors
        self.settle(self.host)
        self.ironic.workers = conductors[1:]
        with mock.patch.object(
            self.records, 'apply', side_effect=RuntimeError
        ):
            self.assertRaises(RuntimeError, self.host.refresh)
        self.assertEqual(30, self.host.refresh().applied)


class TestFaultsOfOthers(AffectedCase):
    """Policies of another service that fail, and then work again."""

    def setUp(self) -> None:
        super().setUp()
        self.host = self.start('host1', SHARD_A)
        self.other = self.start('host2', FAULTY)
        self.ironic.put(world.node(7, shard='b'))
        self.follow(self.host)
        self.settle(self.host, self.other)

    def test_policy_that_can_be_built_again(self) -> None:
        without = {k: v for k, v in world.CLASSES.items() if k != 'faulty'}
        for classes in (without, world.CLASSES.copy()):
            for decided in (29, 0):
                self.elapse(self.host, self.other)
                self.decided.clear()
                with mock.patch.dict(world.CLASSES, classes, clear=True):
                    self.host.refresh()
                self.assertEqual([decided], self.decided)


class TestEveryHistory(AffectedCase):
    """After each refresh of what is affected, one of all changes nothing.

    The first decides a few nodes at a time, the second all of them at once.
    """

    def setUp(self) -> None:
        super().setUp()
        self.enterContext(mock.patch.object(peer_groups, 'BATCH', 7))

    def test_ring(self) -> None:
        self._explore(RING, RING)

    def test_exclusive(self) -> None:
        self._explore(SHARD_A, GROUP)

    def test_ring_beside_another_scope(self) -> None:
        self._explore(RING, SHARD_A)

    def test_contract_two(self) -> None:
        self._explore(keeps(1), keeps(2))

    def test_policy_that_fails_and_works_again(self) -> None:
        self._explore(SHARD_A, FAULTY)

    def _explore(self, *settings: model.MemberSettings) -> None:
        choice = random.Random(16)
        hosts = [
            self.start(f'host{number}', one)
            for number, one in enumerate(settings, 1)
        ]
        for host in hosts:
            self.follow(host)
        self.settle(*hosts)
        for _ in range(20):
            for _ in range(choice.randint(0, 3)):
                self._change(choice, hosts)
            self.elapse(*hosts)
            for host in hosts:
                self._compare(host)
        self.assertLess(min(self.decided), 5)

    def _change(
        self, choice: random.Random, hosts: list[service.Service]
    ) -> None:
        uuid = world.uuid(choice.choice(NODES))
        node = self.ironic.nodes.get(uuid)
        match choice.randint(0, 11):
            case 0:
                self.ironic.nodes.pop(uuid, None)
            case 1:
                new = world.node(choice.randint(100, 999), shard='a')
                self.ironic.put(new)
                # Else it may be unseen for as long as it never changes.
                self._put(new, name='changed')
            case 2:
                self.records.set_service(
                    choice.choice(hosts).host,
                    actor='operator',
                    disabled=choice.choice((True, False)),
                )
            case 10:
                Faulty.fails = choice.choice(('', 'peers', 'assign'))
            case _ if node is None:
                pass
            case 11:
                self._put(
                    node, fields={'owner': choice.choice((None, 'other'))}
                )
            case 3:
                self._put(node, shard=choice.choice(('a', 'b', None)))
            case 4:
                self._put(node, conductor_group=choice.choice(('', 'g')))
            case 5:
                self._put(node, maintenance=not node.maintenance)
            case _:
                instance = None if node.instance_uuid else f'i-{uuid}'
                self._put(node, instance_uuid=instance)

    def _put(self, node: model.Node, **values: object) -> None:
        self.ironic.put(dataclasses.replace(node, **values))

    def _compare(self, host: service.Service) -> None:
        plans: list[Plan] = []
        planned = host.refresher.operator_log.planned
        with mock.patch.object(
            host.refresher.operator_log,
            'planned',
            lambda plan: (plans.append(plan), planned(plan)),
        ):
            first = host.refresh()
            while first.applied or first.list_again or first.refused:
                first = host.refresh()
            plans.clear()
            host.refresh()
            served = dict(host.feed.owned())
            whole = self._refresh_all(host)
        self.assertEqual((0, 0), (whole.applied, whole.refused))
        self.assertEqual(served, dict(host.feed.owned()))
        affected, every = map(summary_of, plans)
        self.assertEqual(every, affected)

    def _refresh_all(self, host: service.Service) -> Summary:
        """Read, decide and serve all nodes, at once and from nothing."""
        refresher = host.refresher
        reader, own = refresher.reader, refresher._own
        cache, last = refresher._cache, refresher._planner._last
        refresher.reader, refresher._own = FleetReader(self.ironic, ''), None
        refresher._cache = RecordCache(cache.records, host.host)
        try:
            with mock.patch.object(peer_groups, 'BATCH', 10**6):
                return host.refresh()
        finally:
            refresher.reader, refresher._own = reader, own
            refresher._cache, refresher._planner._last = cache, last
