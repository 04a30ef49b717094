"""The rule of every explanation, and its advice, carried out."""

from __future__ import annotations

import pathlib
import re
import tempfile
from collections.abc import Sequence
from typing import Any

from ironic_ownership.contracts.reasons import Reason
from ironic_ownership.engine.queries import advice
from tests.unit.engine import world
from tests.unit.hints import site
from tests.unit.hints.site import (
    Step,
    carry_out,
    hand_over,
    kill,
    lose,
    node,
    operator,
    patch,
    restart,
    run,
    serve,
    stop,
    unpatch,
)

A, B = world.runs(shard_key='a'), world.runs(shard_key='b')
GROUP, RING = world.runs(conductor_group='g'), world.RING
NODE, INSTANCE = world.uuid(1), world.uuid(901)
NOTHING = 'Nothing to do'
MOVE = f'compute node move {NODE} --to '
DOWN = 'service set host1 --down --yes'
BOTH = [serve('host1', A), serve('host2', B)]
CONTEST = [serve('host1', A), serve('host2', GROUP)]
IN_BOTH = node(1, shard='a', conductor_group='g')
FILTERS = 'Give host1, host2 filters that do not overlap'


def _reserve(s: TestExplanations) -> None:
    reserve = s.hint.replace('--instance UUID', f'--instance {INSTANCE}')
    s.carry_out(reserve, HOST='host1')


# What leads to a decision, words of its rule and of its advice, and what the
# advice asks for: then another reason holds, or there is nothing to do.
CASES: dict[
    Reason, tuple[Sequence[Step], Sequence[str], Sequence[str], Sequence[Step]]
] = {
    Reason.EXCLUSIVE: (
        [*BOTH, node(1, shard='a')],
        ['host1 is the only live, enabled service'],
        ['host1 claims it at its next refresh'],
        [],
    ),
    Reason.ASSIGNED: (
        [serve('host1', RING), serve('host2', RING), node(1)],
        ['peer_list chose host2 among host1, host2'],
        ['host2 claims it at its next refresh'],
        [],
    ),
    Reason.ADOPTED: (
        [serve('host1'), node(1, instance_uuid=INSTANCE)],
        ['host1, chosen by the policies, adopts it'],
        ['host1 claims it at its next refresh'],
        [],
    ),
    Reason.RETURNED: (
        [
            *(node(1), serve('host1', RING), serve('host2', RING)),
            stop('host2'),
            operator(
                'UPDATE compute_nodes SET host = NULL, reason = '
                "'released', released_by = 'host2'"
            ),
            node(1, instance_uuid=INSTANCE),
        ],
        ['only host2 may claim it'],
        ['Start host2 again', f'{MOVE}host1'],
        [carry_out(TEXT='gone')],
    ),
    Reason.INSTANCE_STAYS: (
        [
            node(1, shard='a', instance_uuid=INSTANCE),
            *(*BOTH, node(1, shard='b')),
        ],
        ['stays with host1', 'want host2'],
        [NOTHING, f'{MOVE}host2'],
        [hand_over('host1')],
    ),
    Reason.RECORD_KEEPS: (
        [node(1, shard='a'), *BOTH, node(1, shard='b')],
        ['want host2', 'names host1'],
        [f'release {NODE}, then host2 claims it'],
        [carry_out()],
    ),
    Reason.CONFLICT_FIRST: (
        [serve('host1'), serve('host2'), node(1)],
        ['host1, host2 admit', 'host1 joined first'],
        ['Stop all of host1, host2 but one', 'host1 claims it'],
        [stop('host2')],
    ),
    Reason.CONTESTED_KEEPS: (
        [IN_BOTH, *CONTEST],
        ['host1, host2', 'host1, the owner on record'],
        [FILTERS],
        [restart('host2', B)],
    ),
    Reason.CONTESTED_UNOWNED: (
        [*CONTEST, IN_BOTH],
        ['no service claims it'],
        [FILTERS],
        [restart('host2', B)],
    ),
    Reason.UNDECIDED: (
        [
            node(1),
            patch(world.PickyPolicy, 'admits', side_effect=LookupError('its')),
            serve('host1', world.runs(picky='fake')),
        ],
        ['policies of a service that may own the node fail'],
        ['Repair the package that fails', 'host1'],
        [unpatch()],
    ),
    Reason.UNASSIGNED: (
        [
            node(
                1,
                resource_class='gold',
                provision_state='available',
                power_state='power off',
            ),
            serve('host1', world.RESERVING),
        ],
        ['host1 admits the node, but its assigner reservation leaves'],
        [NOTHING, f'reservation create --node {NODE}'],
        [_reserve],
    ),
    Reason.NOT_ADMITTED: (
        [node(1, shard='b'), serve('host1', A)],
        ['no live, enabled service admits'],
        ['shard_key = b', f'node set {NODE} --shard a'],
        [node(1, shard='a')],
    ),
    Reason.FILTERED_KEEPS: (
        [node(1, shard='a'), serve('host1', A), node(1, shard='b')],
        ['the owner on record, host1, keeps it'],
        ['shard_key = b', f'node set {NODE} --shard a'],
        [serve('host2', B)],
    ),
    Reason.NODE_GONE: (
        [
            *(node(1, instance_uuid=INSTANCE), serve('host1')),
            *(kill('host1'), lose(1)),
        ],
        ['404'],
        [f'The instance {INSTANCE} is still on record', 'compute node delete'],
        [carry_out(TEXT='scrapped')],
    ),
    Reason.BEING_DELETED: (
        [
            # A process that began it ended before its provider was deleted.
            *(node(1), serve('host1'), kill('host1'), lose(1)),
            operator("UPDATE compute_nodes SET reason = 'being_deleted'"),
        ],
        ['404', 'are being deleted'],
        ['compute node delete'],
        [carry_out()],
    ),
}
DONE = {Reason.RELEASED, Reason.RESERVED, Reason.MOVED, Reason.IMPORTED}
"""Reasons that are recorded, and not decided."""


class TestExplanations(site.Site):
    """Node 1, as ``compute node explain`` shows it."""

    def explain(self) -> dict[str, Any]:
        code, out, err = self.run_command(
            f'compute node explain {NODE} -f json'
        )
        self.assertEqual(0, code, err)
        found: dict[str, Any] = site.json.loads(out)
        self.hint = '; '.join(found['advice'])
        self.assertTrue(self.hint)
        return found

    def test_every_reason_has_a_case(self) -> None:
        self.assertEqual(set(advice._RULES), set(CASES))
        self.assertEqual(set(Reason) - DONE, set(CASES))

    def play(self, reason: Reason) -> None:
        leads, rule, advised, remedy = CASES[reason]
        self.take(leads)
        found = self.explain()
        self.assertEqual(reason, found['reason'], found)
        for words in rule:
            self.assertIn(words, found['rule'])
        self.says(*advised)
        self.take(remedy)
        self.settle()
        if NODE not in self.ironic.nodes and not self.owners():
            return
        if self.explain()['reason'] == reason:
            self.assertTrue(self.hint.startswith(NOTHING), self.hint)

    def test_owner_that_does_not_serve(self) -> None:
        gone = operator("DELETE FROM services WHERE host = 'host1'")
        for words, steps, first in (
            ('host1 is not alive', [kill('host1')], 0),
            ('host1 was stopped and is', [stop('host1', 600)], 0),
            ('host1 is forced down', [run(DOWN), kill('host1')], 1),
            ('host1 is not a service', [kill('host1'), gone], 0),
        ):
            with self.subTest(words):
                self.doCleanups()
                self.setUp()
                self.take([node(1), serve('host1'), *steps])
                self.alive['host2'] = self.start('host2')
                self.explain()
                self.says(words)
                self.carry_out(first=first, HOST='host2')
                self.settle()
                self.explain()
                self.assertEqual({1: 'host2'}, self.owners())
                self.assertEqual(NOTHING, self.hint)

    def test_deployed_node_that_no_reservation_has_is_imported(self) -> None:
        self.take([node(1, instance_uuid=INSTANCE)])
        self.take([serve('host1', world.RESERVING)])
        self.assertEqual(Reason.UNASSIGNED, self.explain()['reason'])
        (line,) = re.findall(f'"({NODE},HOST)"', self.hint)
        file = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        file /= 'owners'
        file.write_text(line.replace('HOST', 'host1'))
        self.carry_out(FILE=str(file))
        self.settle()
        self.explain()
        self.assertEqual({1: 'host1'}, self.owners())
        self.assertTrue(self.hint.startswith(NOTHING), self.hint)

    def test_node_out_of_service(self) -> None:
        self.take([node(1), serve('host1')])
        self.conductors(False, True)
        self.explain()
        (command,) = site.commands_of(self.hint)
        code, _, err = self.run_command(command)
        self.assertIn('c1', err)
        self.assertEqual(3, code)


site.play_each(TestExplanations, CASES, 'advice_of_{}')
