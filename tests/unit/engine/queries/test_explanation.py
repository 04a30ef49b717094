"""Explanations: the candidates, and the advice for a moment."""

from __future__ import annotations

import dataclasses
import unittest

from ironic_ownership.contracts import model
from ironic_ownership.contracts.records import Pause
from ironic_ownership.engine.decision.peer_groups import tolerant
from ironic_ownership.engine.queries import advice, explanation
from tests.unit.engine import service, world

A, B = world.runs(shard_key='a'), world.runs(shard_key='b')
RING = world.runs(peer_list=())
NONE = model.MemberSettings((), contract_version=0)
NODE = world.uuid(1)
MOVE = f'ironic-ownership compute node move {NODE} --to '


class ExplainCase(unittest.TestCase):
    def explain(
        self, node, members, record=None, services=(), pauses=()
    ) -> explanation.Explanation:
        return explanation.explain(
            node.uuid,
            world.deployment(
                members,
                services,
                filter(None, [record]),
                [node],
                pauses=pauses,
                on_fault=tolerant(),
            ),
        )

    def assert_advises(self, said, *words: str) -> None:
        text = '\n'.join(advice.advise(said))
        for word in words:
            self.assertIn(word, text)


class TestAdvice(ExplainCase):
    """Advice that differs within a reason; ``tests.unit.hints`` has each."""

    def test_advice_depends_on_the_services(self) -> None:
        ring = world.members(RING, 'host1', 'host2')
        free, deployed = world.node(1), world.node(1, instance_uuid='i')
        a = world.node(1, shard='a')
        down = model.Service('host1', settings=RING)
        dead = model.Service('dead', settings=A)
        stock = model.Service('host3', settings=NONE, up_in_nova=True)
        away = model.Service('away', settings=A, away=True)
        back = 'away was stopped and is expected back: '
        odd = world.members(world.runs(odd=None), 'host1')
        b = [world.member('host2', B)]
        for node, members, record, services, words in (
            (
                deployed,
                ring[1:],
                world.record(1, None, released_by='host1'),
                [down],
                ('Start host1 again', f'{MOVE}host2'),
            ),
            (
                free,
                ring,
                world.record(1, None, released_by='host1'),
                [],
                ('refresh, unless an interrupted move holds it: ', '--unf'),
            ),
            (
                free,
                ring,
                world.record(1, 'host1'),
                [],
                ('host1 releases it', 'then host2 claims it'),
            ),
            (
                free,
                ring,
                world.record(1, 'host3'),
                [model.Service('host3', settings=RING)],
                ('host2 takes it from host3',),
            ),
            (
                world.node(2),
                odd,
                None,
                [],
                ('documentation of the policy odd',),
            ),
            (
                a,
                b,
                None,
                [dead],
                ('dead would admit the node, but it is not alive',),
            ),
            (
                a,
                b,
                None,
                [dataclasses.replace(dead, forced_down=True)],
                ('but it is not alive and is forced down',),
            ),
            *(
                (
                    world.node(1, **values),
                    members,
                    world.record(1, 'host3'),
                    [stock],
                    ('Nothing to do: stock Nova serves it on host3',),
                )
                for members, values in (
                    (ring, {}),
                    (ring, {'instance_uuid': 'i'}),
                    (b, {'shard': 'a'}),
                    (b, {'shard': 'b'}),
                )
            ),
            (a, b, None, [away], ('Wait: away claims it once it is back',)),
            *(
                (node, b, record, [away], (back, '--down', f'{MOVE}HOST'))
                for node, record in (
                    (a, world.record(1, 'away')),
                    (
                        dataclasses.replace(a, instance_uuid='i'),
                        world.record(1, 'away', 'i'),
                    ),
                )
            ),
            (
                world.node(1, shard='Rack'),
                [
                    world.member('host1', A),
                    world.member('host2', world.runs(shard_key='rack')),
                ],
                None,
                [],
                # The nearest one differs in case only.
                ('to host2: ', '--shard rack'),
            ),
            (
                a,
                [world.member('host1', world.runs(shard_key="it's $1"))],
                None,
                [],
                ("""--shard 'it'"'"'s $1'""",),
            ),
        ):
            with self.subTest(words):
                said = self.explain(node, members, record, services)
                self.assert_advises(said, *words)

    def test_each_line_of_the_advice_agrees_with_the_decision(self) -> None:
        free, deployed = world.node(1), world.node(1, instance_uuid='i')
        alike = world.members(world.ALL, 'host1', 'host2')
        fails = world.members(world.runs(fails='admits'), 'host1')
        mixed = [alike[0], world.member('host2', RING, 9.0)]
        reserving = world.members(world.RESERVING, 'host1')
        stock = model.Service('host3', settings=NONE, up_in_nova=True)
        dead = model.Service('host1', settings=world.RESERVING)
        of_ring = dataclasses.replace(dead, settings=RING)
        back = model.Service('host2', settings=RING, away=True)
        of_all = dataclasses.replace(back, settings=world.ALL)
        on_1, on_2 = world.record(1, 'host1'), world.record(1, 'host2')
        stays = world.record(1, 'host1', 'i')
        stop = 'Stop all of host1, host2 but one'
        start = (
            'host1 is not alive: start it again; or, if it has stopped for '
            'good: ironic-ownership service set host1 --down, and '
        )
        gone = 'host1 is not a service: start it, or move the node: '
        release = f'ironic-ownership compute node release {NODE}, then '
        repair = (
            'Repair the package that fails, or stop the service that runs it. '
            'Possibly concerned: host1'
        )
        serves = 'Nothing to do: host1 continues to serve it'
        for node, members, record, services, *lines in (
            # Several services admit it.
            (free, alike, on_1, [], stop),
            (free, alike, on_2, [], stop),
            (deployed, alike, world.record(1, 'host2', 'i'), [], stop),
            (free, alike, world.record(1, 'host3'), [stock], stop),
            (free, alike, None, [], stop, 'Wait: host1 claims it at its next'),
            (deployed, mixed, stays, [], 'Give host1, host2 filters'),
            (deployed, fails, stays, [], repair),
            # The assigner leaves it without an owner.
            (deployed, reserving, stays, [], serves),
            (free, reserving, on_1, [], 'Wait: host1 releases it at its next'),
            (
                *(free, [world.member('host2', world.RESERVING)]),
                *(on_1, [dead], f'{start}{MOVE}HOST'),
            ),
            (
                *(free, reserving, on_2),
                [dataclasses.replace(back, settings=world.RESERVING)],
                'host2 was stopped and is expected back: wait for it; or',
            ),
            # Its next owner is away.
            (deployed, [], stays, [of_all], f'{gone}{MOVE}HOST'),
            (deployed, alike[:1], stays, [of_all], stop),
            (deployed, [world.member('host1', B)], stays, [back], serves),
            (
                *(free, [], on_1, [of_ring, back]),
                'Wait: host2 takes it from host1 once it is back',
            ),
            (
                *(free, [world.member('host1', B)], on_1, [back]),
                f'To follow the policies: {release}host2 claims it once it is',
            ),
            (
                *(free, [reserving[0]], world.record(1, 'b'), []),
                f'b is not a service: start it, or move the node: {MOVE}HOST',
            ),
            # A service for it would admit nodes of others as well.
            (
                *(free, [world.member('host1', A)], None, []),
                'Give it a shard: openstack baremetal node set ',
                'Or give the node to host1: ',
            ),
            (
                *(free, [world.member('odd', world.UNKNOWN)], None, []),
                'odd may admit the node; run this command on a machine where',
            ),
        ):
            with self.subTest(lines):
                said = self.explain(node, members, record, services)
                found = [*advice.advise(said)]
                self.assertEqual(len(lines), len(found), found)
                for line, text in zip(lines, found, strict=True):
                    self.assertTrue(text.startswith(line), text)

    def test_record_of_stock_nova_is_deleted_by_an_operator(self) -> None:
        stock = model.Service('host3', settings=NONE, up_in_nova=True)
        said = explanation.explain(
            NODE,
            world.deployment([], [stock], [world.record(1, 'host3')]),
        )
        self.assertEqual(
            [f'ironic-ownership compute node delete {NODE}'],
            [*advice.advise(said)],
        )

    def test_node_waits_for_the_end_of_a_pause(self) -> None:
        pause = Pause('req', None, None, 0.0, 9.0, 'alice', 'switches')
        dead = model.Service('host1', settings=RING)
        for members, services, words in (
            (world.members(RING, 'host1', 'host2'), [], 'host1 releases it'),
            ([world.member('host2', RING)], [dead], 'takes it from host1'),
        ):
            record = world.record(1, 'host1')
            said = self.explain(
                world.node(1), members, record, services, [pause]
            )
            self.assert_advises(said, f'{words} after the pause, see')


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
            model.Service('stock', settings=NONE, up_in_nova=True),
            model.Service('away', settings=B, away=True),
        ]
        said = self.explain(
            world.node(1, shard='a'), members, services=services
        )
        why = {c.host: c.why for c in said.candidates}
        self.assertEqual(sorted(why), list(why))
        self.assertEqual('runs stock Nova', why['stock'])
        for host, words in (
            ('host1', 'admits the node'),
            ('off', 'is disabled'),
            ('down', 'is forced down'),
            ('dead', 'is not alive'),
            ('away', 'was stopped and is expected back'),
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

    def test_service_that_is_expected_back_is_not_said_to_be_live(
        self,
    ) -> None:
        away = model.Service('host1', settings=A, away=True)
        said = self.explain(world.node(1, shard='a'), [], services=[away])
        self.assertIn('the only enabled service, live or', advice.rule(said))
        (candidate,) = said.candidates
        self.assertEqual('was stopped and is expected back', candidate.why)
        self.assertTrue(candidate.considered)

    def test_rule_counts_the_services(self) -> None:
        odd = world.members(world.runs(odd=None), 'host1', 'host2')
        for number, words in (
            (1, 'host1 admits the node, but its assigner odd leaves'),
            (2, 'host1, host2 admit the node, but their assigner odd leaves'),
        ):
            said = self.explain(world.node(2), odd[:number])
            self.assertIn(words, advice.rule(said))

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


class TestDecidedTogether(service.ServiceCase):
    """An assigner that sees all nodes is shown all nodes."""

    def explained(self, runs, number, sharded=False):
        ports = service.Service('asking', world.ALL, self.shared).context.ports
        for host in ('host1', 'host2'):
            member = service.Service(host, runs, self.shared)
            member.backend.join(host, host, runs)
        return explanation.explain_node(
            ports, world.uuid(number), lambda: sharded
        )

    def setUp(self) -> None:
        super().setUp()
        self.ironic.put(*(world.node(n, shard='a') for n in range(1, 4)))
        self.ironic.put(world.node(4, shard='b'))

    def scans(self) -> list[object]:
        return [what for call, what in self.ironic.calls if call == 'scan']

    def test_scope_is_listed_for_an_assigner_that_needs_it(self) -> None:
        seating = world.runs(shard_key='a', seating=None)
        for runs, sharded, scopes in (
            (seating, False, [model.Scope(shard='a')]),
            (seating, True, [model.Scope(shard='a')]),
            # It decides node by node.
            (RING, False, []),
        ):
            self.ironic.calls.clear()
            said = self.explained(runs, 2, sharded)
            self.assertEqual('host2', said.status.decision.owner)
            scans = [
                what for call, what in self.ironic.calls if call == 'scan'
            ]
            self.assertEqual(scopes, scans)

    def test_law_4_comes_before_an_answer(self) -> None:
        with self.assertRaisesRegex(Exception, 'shard key set'):
            self.explained(world.runs(seating=None), 2, sharded=True)
        self.assertNotIn('scan', [call for call, _ in self.ironic.calls])
