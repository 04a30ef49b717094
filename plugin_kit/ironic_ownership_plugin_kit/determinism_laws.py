"""Laws of determinism: the same answers always, everywhere, in any order."""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import itertools
import random
import sys
from collections.abc import Sequence
from concurrent import futures
from typing import ClassVar

from ironic_ownership.contracts import exceptions, model
from ironic_ownership_plugin_kit import (
    own_code,
    policy_case,
    policy_process,
    sample_nodes,
)

_MEETINGS = 100
"""Times that each thread asks."""
_THREADS = 4
_NAMED = 3
"""Most actions that are named in one message."""
_ROUNDS = 4
"""States that each node is given, one after the other."""


class DeterminismLaws(policy_case.PolicyCase):
    """Answers follow from options, nodes and members alone."""

    _asked_elsewhere: ClassVar[dict[int, policy_process.Elsewhere]]

    @classmethod
    def setUpClass(cls) -> None:
        """Start without answers of other processes."""
        super().setUpClass()
        cls._asked_elsewhere = {}

    def test_same_question_gets_the_same_answer(self) -> None:
        for settings in self.settings:
            policy = self.build(settings)
            nodes = self.samples(policy)
            others = policy_process.altered(nodes)
            for hosts in (*self.memberships(), *self.memberships()):
                self.answers(policy, others, hosts)
                fresh = self.answers(self.build(settings), nodes, hosts)
                self.assert_same(
                    fresh,
                    self.answers(policy, nodes, hosts),
                    f'with {dict(settings)!r}: the answers depend on earlier '
                    'calls',
                )

    def test_no_state_is_kept_between_calls(self) -> None:
        for settings in self.settings:
            policy = self.build(settings)
            nodes = self.samples(policy)
            few = policy_process.altered(nodes[: len(nodes) // 2])
            first, *_, last = (*self.memberships(), self.memberships()[-1])
            state = own_code.State(policy)
            # What is made at the first call and then stays is no state.
            self.answers(policy, nodes, first)
            before = state.snapshot()
            self.answers(policy, few, last)
            self.build(settings)
            for host in policy_process.MEMBERS[-1]:
                policy.remarks()
                with contextlib.suppress(exceptions.PolicySettingsError):
                    policy.check_host(host)
            changed = {
                name
                for name, value in state.snapshot().items()
                if before.get(name) != value
            }
            if changed:
                self.fail(
                    f'calls change {", ".join(sorted(changed)[:_NAMED])}: '
                    'threads share it, and other processes do not have it'
                )
            consumed = sorted(state.iterators())
            if consumed:
                self.fail(
                    f'each use changes the iterator in {consumed[0]}: '
                    'threads share it, and other processes do not have it'
                )

    def test_order_of_the_nodes_means_nothing(self) -> None:
        for policy, nodes, hosts, words in self.asked():
            first = self.answers(policy, nodes, hosts)
            for seed in range(3):
                random.Random(seed).shuffle(nodes)  # noqa: S311 - an order
                self.assert_same(
                    first, self.answers(policy, nodes, hosts), words
                )

    def test_states_that_change_by_themselves_mean_nothing(self) -> None:
        for policy, nodes, hosts, words in self.asked():
            before = self.answers(policy, nodes, hosts)
            for part in range(_ROUNDS):
                changed = sample_nodes.in_other_states(nodes, part)
                after = self.answers(policy, changed, hosts)
                for node, other in zip(nodes, changed, strict=True):
                    key = f'node {node.uuid}'
                    if before[key] != after[key]:
                        self.fail(
                            f'{words}: {key}: {self.short(after[key])} '
                            f'instead of {self.short(before[key])} when it '
                            f'has {sample_nodes.state_of(other)}'
                        )

    def test_only_requested_fields_are_read(self) -> None:
        for policy, nodes, hosts, words in self.asked():
            self.answers(policy, nodes, hosts)
            for node in nodes:
                for name in ('extra', 'fields'):
                    read = getattr(getattr(node, name), 'was_read', None)
                    if read:
                        self.fail(
                            f'{words}: {read} of node {node.uuid} is read, '
                            'and is always empty: request what you need in '
                            'node_fields'
                        )
            if 'extra' in self.policy_class.node_fields:
                continue
            # Regardless of what it reads: another policy may request it.
            without = [dataclasses.replace(node, extra={}) for node in nodes]
            self.assert_same(
                self.answers(policy, without, hosts),
                self.answers(policy, sample_nodes.with_extra(nodes), hosts),
                f'{words}: with extra, which another policy may request',
            )

    def test_nodes_are_left_as_they_are(self) -> None:
        for policy, nodes, hosts, words in self.asked():
            before = _by_uuid(copy.deepcopy(nodes))
            self.answers(policy, nodes, hosts)
            self.assert_same(before, _by_uuid(nodes), words)

    def test_given_settings_are_left_as_they_are(self) -> None:
        for settings in self.settings:
            given = policy_process.values_of(self.policy_class, settings)
            before = copy.deepcopy(given)
            policy = self.policy_class(given)
            self.answers(policy, self.samples(policy), self.memberships()[-1])
            self.assertEqual(before, given)

    def test_every_process_gives_the_same_answers(self) -> None:
        nodes = self._plain_samples()
        here = [
            policy_process.ask(policy, nodes, self.advertised)
            for policy, _ in self.built()
        ]
        for number in (1, 2):
            found = self._elsewhere(number).answers
            for settings, expected, given in zip(
                self.settings, here, found, strict=True
            ):
                self.assert_same(
                    expected,
                    given,
                    f'with {dict(settings)!r}: another process answers '
                    'differently',
                )

    def test_nothing_is_read_written_or_waited_for(self) -> None:
        outside = {*self._elsewhere(1).outside}
        for policy, _ in self.built():
            outside |= {*own_code.State(policy).locks()}
        if outside:
            first = sorted(outside)
            more = len(first) - _NAMED
            self.fail(
                ', '.join(first[:_NAMED])
                + (f' and {more} more' if more > 0 else '')
            )

    def test_threads_can_share_one_instance(self) -> None:
        self.addCleanup(sys.setswitchinterval, sys.getswitchinterval())
        # Threads seldom meet in the few lines that matter.
        sys.setswitchinterval(1e-6)
        for settings in self.settings:
            shared = self.build(settings)
            nodes = self.samples(shared)
            # Among few members: the longer a call takes, the less often do
            # threads meet in one place of it.
            hosts = self.memberships()[:3][-1]
            parts = [nodes[number::_THREADS] for number in range(_THREADS)]
            expected = [
                self.answers(self.build(settings), part, hosts)
                for part in parts
            ]
            with futures.ThreadPoolExecutor(_THREADS) as pool:
                found = pool.map(
                    self.answers,
                    itertools.repeat(shared),
                    parts * _MEETINGS,
                    itertools.repeat(hosts),
                )
                for right, given in zip(
                    expected * _MEETINGS, found, strict=True
                ):
                    self.assert_same(
                        right,
                        given,
                        f'with {dict(settings)!r}: other answers than for one '
                        'thread',
                    )

    def _elsewhere(self, number: int) -> policy_process.Elsewhere:
        if number not in self._asked_elsewhere:
            self._asked_elsewhere[number] = policy_process.ask_elsewhere(
                self.policy_class,
                self.settings,
                self._plain_samples(),
                number=number,
                values=self.advertised,
            )
        return self._asked_elsewhere[number]

    def _plain_samples(self) -> list[model.Node]:
        policy, _ = next(self.built())
        return [
            dataclasses.replace(
                node, extra=dict(node.extra), fields=dict(node.fields)
            )
            for node in self.samples(policy)
        ]


def _by_uuid(nodes: Sequence[model.Node]) -> dict[str, dict[str, object]]:
    return {
        f'node {node.uuid}': {
            field.name: sample_nodes.plain(getattr(node, field.name))
            for field in dataclasses.fields(node)
        }
        for node in nodes
    }
