"""The advice of every explanation, carried out."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any
from unittest import mock

from ironic_ownership.contracts import model
from ironic_ownership.contracts.reasons import Reason
from ironic_ownership.engine.queries import advice
from tests.unit.engine import world
from tests.unit.hints import site

A, B = world.runs(shard_key='a'), world.runs(shard_key='b')
RING = world.RING
NODE = world.uuid(1)
NOTHING = 'Nothing to do'
Story = Generator[None, list[str], None]
CASES: dict[Reason, Callable[[TestExplanations], Story]] = {}


def case(reason: Reason) -> Callable[[Callable[..., Story]], Any]:
    """Register what leads to a decision, and what its advice asks for.

    A story gets the advice, and ends when it is carried out: then another
    reason holds, or there is nothing to do.
    """

    def register(story: Callable[..., Story]) -> Any:
        CASES[reason] = story
        return story

    return register


class ExplainedSite(site.Site):
    """Node 1, as ``compute node explain`` shows it."""

    def explain(self) -> dict[str, Any]:
        code, out, err = self.run_command(
            f'compute node explain {NODE} -f json'
        )
        self.assertEqual(0, code, err)
        found: dict[str, Any] = site.json.loads(out)
        return found


class TestExplanations(ExplainedSite):
    """One test for each reason, made from ``CASES``."""

    def test_every_reason_has_a_case(self) -> None:
        self.assertEqual(set(advice._RULES), set(CASES))

    def play(self, reason: Reason) -> None:
        story = CASES[reason](self)
        next(story)
        found = self.explain()
        self.assertEqual(reason, found['reason'], found)
        self.assertTrue(found['advice'])
        with self.assertRaises(StopIteration):
            story.send(found['advice'])
        self.settle()
        if NODE not in self.ironic.nodes and not self.owners():
            return
        found = self.explain()
        if found['reason'] == reason:
            self.assertTrue(found['advice'][0].startswith(NOTHING), found)


@case(Reason.EXCLUSIVE)
def _exclusive(s: TestExplanations) -> Story:
    s.serve('host1')
    s.node(1)
    (text,) = yield
    s.assertIn('next refresh', text)


@case(Reason.ASSIGNED)
def _assigned(s: TestExplanations) -> Story:
    s.serve('host1', RING)
    s.node(1)
    (text,) = yield
    s.assertIn('next refresh', text)


@case(Reason.ADOPTED)
def _adopted(s: TestExplanations) -> Story:
    s.serve('host1')
    s.node(1, instance_uuid=s.instance(1))
    (text,) = yield
    s.assertIn('next refresh', text)


@case(Reason.RETURNED)
def _returned(s: TestExplanations) -> Story:
    s.node(1)
    s.serve('host1', RING)
    s.serve('host2', RING)
    owner = str(s.owners()[1])
    s.stop(owner)
    s.operator(
        'UPDATE compute_nodes SET host = NULL, reason = '
        f"'released', released_by = '{owner}'"
    )
    s.node(1, instance_uuid=s.instance(1))
    _, move = yield
    s.carry_out(move, TEXT='gone')


@case(Reason.INSTANCE_STAYS)
def _instance_stays(s: TestExplanations) -> Story:
    s.node(1, shard='a', instance_uuid=s.instance(1))
    s.serve('host1', A)
    s.serve('host2', B)
    s.node(1, shard='b')
    (text,) = yield
    s.assertTrue(text.startswith(NOTHING))
    site.hand_over(s, text, 'host1')


@case(Reason.RECORD_KEEPS)
def _record_keeps(s: TestExplanations) -> Story:
    s.node(1, shard='a')
    s.serve('host1', A)
    s.serve('host2', B)
    s.node(1, shard='b')
    (text,) = yield
    s.carry_out(text)


@case(Reason.CONFLICT_FIRST)
def _conflict_first(s: TestExplanations) -> Story:
    s.serve('host1')
    s.serve('host2')
    s.node(1)
    yield
    s.stop('host2')


def _contest(s: TestExplanations) -> None:
    s.serve('host1', A)
    s.serve('host2', world.runs(conductor_group='g'))


@case(Reason.CONTESTED_KEEPS)
def _contested_keeps(s: TestExplanations) -> Story:
    s.node(1, shard='a', conductor_group='g')
    _contest(s)
    yield
    s.restart('host2', B)


@case(Reason.CONTESTED_UNOWNED)
def _contested_unowned(s: TestExplanations) -> Story:
    _contest(s)
    s.node(1, shard='a', conductor_group='g')
    yield
    s.restart('host2', B)


@case(Reason.UNDECIDED)
def _undecided(s: TestExplanations) -> Story:
    s.node(1)
    with mock.patch.object(
        world.PickyPolicy, 'admits', side_effect=LookupError('its own')
    ):
        s.serve('host1', world.runs(picky='fake'))
        (text,) = yield
        s.assertIn('Repair the package', text)


@case(Reason.UNASSIGNED)
def _unassigned(s: TestExplanations) -> Story:
    s.node(
        1,
        resource_class='gold',
        provision_state='available',
        power_state='power off',
    )
    s.serve('host1', world.RESERVING)
    (text,) = yield
    s.assertTrue(text.startswith(NOTHING))
    reserve = text.replace('--instance UUID', f'--instance {s.instance(1)}')
    s.carry_out(reserve, HOST='host1')


@case(Reason.NOT_ADMITTED)
def _not_admitted(s: TestExplanations) -> Story:
    s.node(1, shard='b')
    s.serve('host1', A)
    first, second = yield
    s.assertIn('shard_key = b', first)
    s.assertIn('--shard a', second)
    s.node(1, shard='a')


@case(Reason.FILTERED_KEEPS)
def _filtered_keeps(s: TestExplanations) -> Story:
    s.node(1, shard='a')
    s.serve('host1', A)
    s.node(1, shard='b')
    yield
    s.serve('host2', B)


@case(Reason.NODE_GONE)
def _node_gone(s: TestExplanations) -> Story:
    s.node(1, instance_uuid=s.instance(1))
    s.serve('host1')
    s.kill('host1')
    del s.ironic.nodes[NODE]
    forget, delete = yield
    s.carry_out(forget, TEXT='scrapped')
    s.carry_out(delete)


@case(Reason.BEING_DELETED)
def _being_deleted(s: TestExplanations) -> Story:
    # A process that began it has ended before its provider was deleted.
    s.node(1)
    s.serve('host1')
    s.kill('host1')
    del s.ironic.nodes[NODE]
    s.operator("UPDATE compute_nodes SET reason = 'being_deleted'")
    (delete,) = yield
    s.carry_out(delete)


class TestOwners(ExplainedSite):
    """An owner that does not serve, and a node out of service."""

    def setUp(self) -> None:
        super().setUp()
        self.node(1)
        self.serve('host1')

    def advice_is_carried_out(self, first: int = 0) -> None:
        self.carry_out(self.explain()['advice'][0], first, HOST='host2')
        self.settle()
        found = self.explain()
        self.assertEqual({1: 'host2'}, self.owners())
        self.assertEqual([NOTHING], found['advice'])

    def test_dead_owner(self) -> None:
        self.kill('host1')
        self.serve('host2')
        self.advice_is_carried_out()

    def test_forced_down_owner(self) -> None:
        self.run_command('service set host1 --down --yes')
        self.kill('host1')
        self.serve('host2')
        self.advice_is_carried_out(first=1)

    def test_owner_that_is_no_service(self) -> None:
        self.kill('host1')
        self.operator("DELETE FROM services WHERE host = 'host1'")
        self.alive['host2'] = self.start('host2')
        self.advice_is_carried_out()

    def test_node_out_of_service(self) -> None:
        self.ironic.workers = [
            model.Conductor('c1', '', frozenset({'fake'}), alive=False),
            model.Conductor('c2', '', frozenset({'other'})),
        ]
        text = self.explain()['advice'][0]
        (command,) = site.commands_of(text)
        code, _, err = self.run_command(command)
        self.assertIn('c1', err)
        self.assertEqual(3, code)


def _test_of(reason: Reason) -> Callable[[TestExplanations], None]:
    return lambda self: self.play(reason)


for _reason in CASES:
    setattr(TestExplanations, f'test_advice_of_{_reason}', _test_of(_reason))
