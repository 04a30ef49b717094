"""Explanations: every rule, the candidates, and the advice."""

from __future__ import annotations

import dataclasses
import unittest
from collections.abc import Sequence

from ironic_ownership.contracts import model, policy, reasons
from ironic_ownership.contracts.reasons import Contest, Decision
from ironic_ownership.engine.ports import Ports
from ironic_ownership.engine.queries import advice, explanation, node_query
from ironic_ownership.engine.queries.deployment import Deployment
from tests.contract.suites import fake_bare_metal
from tests.unit.engine import service, world

Reason = reasons.Reason
A, B = world.runs(shard_key='a'), world.runs(shard_key='b')
RING = world.runs(peer_list=())
MOVE = f'ironic-ownership compute node move {world.uuid(1)} --to '


class SeatingPolicy(policy.AssignerPolicy):
    """An assigner whose answer for a node depends on the others."""

    contract_version = 1

    def assign(
        self, nodes: Sequence[model.Node], hosts: Sequence[str]
    ) -> Sequence[str | None]:
        places = sorted(node.uuid for node in nodes)
        return [hosts[places.index(n.uuid) % len(hosts)] for n in nodes]


CLASSES = {**world.CLASSES, 'seating': SeatingPolicy}


def interpret(settings: model.MemberSettings):
    return world.interpret(settings, CLASSES)


class ExplainCase(unittest.TestCase):
    def explain(
        self, node, members, record=None, services=()
    ) -> explanation.Explanation:
        known = node or record
        members = list(members)
        if services:
            services = world.registered(members, services)
        return explanation.explain(
            known.uuid,
            Deployment(
                interpret,
                {row.host: row for row in services},
                model.View.of(members),
                {record.uuid: record} if record else {},
                {node.uuid: node} if node else {},
            ),
        )

    def undecided(self, *hosts: str) -> explanation.Explanation:
        """Explain a node as a host decides that tolerates failing policies."""
        said = self.explain(world.node(1), world.members(world.ALL, *hosts))
        decision = Decision(None, Reason.UNDECIDED, hosts, Contest.CONTESTED)
        status = dataclasses.replace(said.status, decision=decision)
        return dataclasses.replace(said, status=status)

    def assert_rule(self, reason: Reason, said, *words: str) -> None:
        self.assertEqual(reason, said.decision.reason)
        self.assert_says([advice.rule(said)], *words)
        self.assertTrue(list(advice.advise(said)))

    def assert_advises(self, said, *words: str) -> None:
        self.assert_says(advice.advise(said), *words)

    def assert_says(self, lines, *words: str) -> None:
        text = '\n'.join(lines)
        for word in words:
            self.assertIn(word, text)

    def why(self, said) -> dict[str, str]:
        return {c.host: c.why for c in said.candidates}


class TestMemberValues(ExplainCase):
    def test_values_of_a_member_are_with_its_policy(self) -> None:
        advertised = dataclasses.replace(
            RING, values=(model.PolicySettings.of('peer_list', {'weight': 3}),)
        )
        found = self.explain(
            world.node(1),
            [world.member('host1', advertised), world.member('host2', RING)],
        )
        ((one,), (other,)) = [c.results for c in found.candidates]
        self.assertEqual((('weight', 3),), one.values.options)
        self.assertEqual((), other.values.options)


class TestRules(ExplainCase):
    def test_node_that_waits_for_a_reservation_needs_nothing(self) -> None:
        said = self.explain(world.node(2), world.members(world.RESERVING, 'h'))
        self.assert_rule(
            Reason.UNASSIGNED, said, 'reservation leaves it unowned'
        )
        self.assert_advises(
            said, 'Nothing to do', f'reservation create --node {world.uuid(2)}'
        )

    def test_every_reason_that_is_decided_has_a_rule_and_advice(self) -> None:
        node = world.node(1, shard='a')
        deployed = world.node(1, shard='a', instance_uuid='i')
        a, b = world.member('host1', A), world.member('host2', B)
        clash = [a, world.member('host2', world.ALL)]
        owned = world.record(1, 'host1')
        # These are done not decided.
        untold = set(Reason) - {
            Reason.RELEASED,
            Reason.RESERVED,
            Reason.MOVED,
            Reason.IMPORTED,
        }
        for reason, said, words, advised in (
            (
                Reason.EXCLUSIVE,
                self.explain(node, [a, b], owned),
                ['host1 is the only'],
                ['Nothing to do'],
            ),
            (
                Reason.ASSIGNED,
                self.explain(node, world.members(RING, 'host1', 'host2')),
                ['peer_list chose host2 among host1, host2'],
                ['host2 claims it'],
            ),
            (
                Reason.ADOPTED,
                self.explain(deployed, [a]),
                ['host1, chosen by the policies, adopts it'],
                ['host1 claims it'],
            ),
            (
                Reason.RETURNED,
                self.explain(
                    deployed, [a], world.record(1, None, released_by='host1')
                ),
                ['only host1 may claim it'],
                ['host1 claims it'],
            ),
            (
                Reason.INSTANCE_STAYS,
                self.explain(deployed, [a, b], world.record(1, 'host2', 'i')),
                ['stays with host2', 'want host1'],
                [MOVE + 'host1'],
            ),
            (
                Reason.RECORD_KEEPS,
                self.explain(node, [a, b], world.record(1, 'host2')),
                ['want host1', 'names host2'],
                [f'release {world.uuid(1)}, then host1 claims it'],
            ),
            (
                Reason.CONFLICT_FIRST,
                self.explain(node, world.members(A, 'host1', 'host2')),
                ['host1, host2 admit', 'host1 joined first'],
                ['Stop all of host1, host2 but one', 'host1 claims it'],
            ),
            (
                Reason.CONTESTED_KEEPS,
                self.explain(node, clash, world.record(1, 'host9')),
                ['host1, host2', 'host9'],
                [
                    'Give host1, host2 filters that do not',
                    'host9 is not a service',
                ],
            ),
            (
                Reason.CONTESTED_UNOWNED,
                self.explain(node, clash),
                ['no service claims it'],
                ['Give host1, host2 filters that do not'],
            ),
            (
                Reason.UNASSIGNED,
                self.explain(
                    world.node(2), world.members(world.runs(odd=None), 'h')
                ),
                ['odd leaves it unowned'],
                ['documentation of the policy odd'],
            ),
            (
                Reason.NOT_ADMITTED,
                self.explain(world.node(1, shard='c'), [a]),
                ['no live, enabled service admits'],
                ['shard_key = c', f'node set {world.uuid(1)} --shard a'],
            ),
            (
                Reason.FILTERED_KEEPS,
                self.explain(world.node(1, shard='c'), [a], owned),
                ['host1, keeps it'],
                ['shard_key = c', f'node set {world.uuid(1)} --shard a'],
            ),
            (
                Reason.UNDECIDED,
                self.undecided('host1', 'host2'),
                ['policies of a service that may own the node fail'],
                ['Repair the package that fails', 'host1, host2'],
            ),
            (
                Reason.NODE_GONE,
                self.explain(None, [a], owned),
                ['404'],
                ['host1 deletes'],
            ),
            (
                Reason.BEING_DELETED,
                self.explain(
                    None,
                    [a],
                    dataclasses.replace(owned, reason=Reason.BEING_DELETED),
                ),
                ['404', 'are being deleted'],
                ['host1 deletes'],
            ),
        ):
            with self.subTest(reason):
                self.assert_rule(reason, said, *words)
                self.assert_advises(said, *advised)
                untold.remove(reason)
        self.assertEqual(set(), untold)

    def test_node_released_by_a_service_that_is_down_needs_an_operator(
        self,
    ) -> None:
        a, b = world.members(RING, 'host1', 'host2')
        said = self.explain(
            world.node(1, instance_uuid='i'),
            [b],
            world.record(1, None, released_by='host1'),
            [model.Service('host1', settings=a.settings)],
        )
        self.assertIsNone(said.decision.owner)
        self.assert_rule(Reason.RETURNED, said, 'only host1 may claim it')
        self.assert_advises(said, 'Start host1 again', MOVE + 'host2')

    def test_free_node_on_its_way_is_to_be_waited_for(self) -> None:
        ring = world.members(RING, 'host1', 'host2')
        said = self.explain(world.node(1), ring, world.record(1, 'host1'))
        self.assert_advises(said, 'host1 releases it', 'then host2 claims it')
        rows = [model.Service('host3', settings=RING)]
        said = self.explain(
            world.node(1), ring, world.record(1, 'host3'), rows
        )
        self.assert_advises(said, 'host2 takes it from host3')

    def test_dead_owner_of_an_instance_is_brought_back_or_moved(self) -> None:
        said = self.explain(
            world.node(1, shard='a', instance_uuid='i'),
            [world.member('host1', A)],
            world.record(1, 'host3', 'i'),
        )
        self.assert_advises(said, 'host3 is not a service', MOVE + 'host1')
        rows = [model.Service('host3', forced_down=True)]
        said = self.explain(
            world.node(1, shard='a', instance_uuid='i'),
            [world.member('host3', A)],
            world.record(1, 'host3', 'i'),
            rows,
        )
        self.assert_advises(said, 'host3 is forced down')

    def test_orphan_without_a_live_owner_is_deleted_by_hand(self) -> None:
        said = self.explain(None, [], world.record(1, 'host1', 'i'))
        self.assert_advises(
            said, 'The instance i is still', 'compute node delete'
        )


class TestCandidates(ExplainCase):
    def test_each_service_has_its_reason(self) -> None:
        members = [
            *world.members(A, 'host1', 'off', 'down'),
            world.member('other', B),
            world.member('near', world.runs(shard_key='A')),
            world.member('odd', world.UNKNOWN),
            world.member('newer', world.NEWER),
        ]
        services = [
            model.Service('off', disabled=True),
            model.Service('down', forced_down=True),
            model.Service('dead', settings=A),
        ]
        said = self.explain(
            world.node(1, shard='a'), members, services=services
        )
        why = self.why(said)
        self.assertEqual(sorted(why), list(why))
        for host, words in (
            ('host1', 'admits the node'),
            ('off', 'is disabled'),
            ('down', 'is forced down'),
            ('dead', 'is not alive'),
            ('other', "wants shard 'b', the node has 'a'"),
            ('near', 'only the case differs'),
            ('odd', "'of_another_site' is not installed"),
            ('newer', 'contract version 99'),
        ):
            self.assertIn(words, why[host], host)
        self.assertEqual(
            ['host1'], [c.host for c in said.candidates if c.considered]
        )
        admits = {c.host: c.admits for c in said.candidates}
        self.assertIs(True, admits['dead'])
        self.assertIs(False, admits['other'])
        self.assertIsNone(admits['odd'])

    def test_each_policy_has_a_result(self) -> None:
        runs = world.runs(conductor_group='g', picky='ipmi', peer_list=())
        said = self.explain(
            world.node(1, conductor_group='g', driver='other'),
            [world.member('host1', runs)],
        )
        (candidate,) = said.candidates
        self.assertEqual(
            [
                ('conductor_group', True, "admits conductor group 'g'"),
                ('picky', False, 'does not admit it'),
                ('peer_list', None, 'assigns among its peers'),
            ],
            [(v.policy.name, v.admits, v.detail) for v in candidate.results],
        )
        self.assertIs(False, candidate.admits)

    def test_service_that_would_admit_is_advised(self) -> None:
        services = [model.Service('dead', settings=A)]
        said = self.explain(
            world.node(1, shard='a'), [world.member('b', B)], None, services
        )
        self.assert_advises(
            said, 'dead would admit the node, but it is not alive'
        )
        services = [model.Service('dead', settings=A, forced_down=True)]
        said = self.explain(
            world.node(1, shard='a'), [world.member('b', B)], None, services
        )
        self.assert_advises(
            said,
            'dead would admit the node, but it is not alive and is '
            'forced down',
        )

    def test_nearest_service_is_the_one_that_differs_in_case(self) -> None:
        said = self.explain(
            world.node(1, shard='Rack'),
            [
                world.member('host1', A),
                world.member('host2', world.runs(shard_key='rack')),
            ],
        )
        self.assert_advises(said, 'to host2: ', '--shard rack')


class TestDecidedTogether(service.ServiceCase):
    """An assigner that sees all nodes is shown all nodes."""

    def explained(self, runs, number, sharded=False):
        ports = Ports(
            self.records,
            self.ironic,
            service.Service('asking', world.ALL, self.shared).backend,
            interpret,
        )
        for host in ('host1', 'host2'):
            member = service.Service(host, runs, self.shared)
            member.backend.join(host, host, runs)
        return node_query.explain(ports, world.uuid(number), lambda: sharded)

    def setUp(self) -> None:
        super().setUp()
        self.ironic: fake_bare_metal.FakeBareMetal = self.shared.ironic
        self.ironic.put(*(world.node(n, shard='a') for n in range(1, 4)))
        self.ironic.put(world.node(4, shard='b'))

    def scans(self) -> list[object]:
        return [what for call, what in self.ironic.calls if call == 'scan']

    def test_scope_is_listed_for_an_assigner_that_needs_it(self) -> None:
        said = self.explained(world.runs(shard_key='a', seating=None), 2)
        self.assertEqual('host2', said.status.decision.owner)
        self.assertEqual([model.Scope(shard='a')], self.scans())

    def test_nothing_is_listed_for_one_that_decides_node_by_node(self) -> None:
        said = self.explained(RING, 2)
        self.assertEqual('host2', said.status.decision.owner)
        self.assertEqual([], self.scans())

    def test_law_4_comes_before_an_answer(self) -> None:
        with self.assertRaisesRegex(Exception, 'shard key set'):
            self.explained(world.runs(seating=None), 2, sharded=True)
        self.assertEqual([], self.scans())

    def test_shard_may_be_listed_with_a_shard_key_set(self) -> None:
        runs = world.runs(shard_key='a', seating=None)
        self.assertIsNotNone(self.explained(runs, 2, sharded=True))
