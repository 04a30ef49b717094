"""Laws of filters and assigners alike.

``policy`` has the suites to subclass.
"""

from __future__ import annotations

import copy
import dataclasses
import functools
import json
import random
import sys
import time
import unittest
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

from ironic_ownership.contracts import exceptions, model, plugin_validation
from ironic_ownership.contracts import policy as contract
from ironic_ownership.testing import interleaving, policy_process, sample_nodes

SAMPLES = 240
"""Everyday nodes on which each law is checked."""

MANY = 100_000
"""Nodes for which the time is reported."""

_PATIENCE = 20.0
"""Seconds after which the time for the rest is extrapolated."""

_THREADS = 4


class PolicyContract(unittest.TestCase):
    """Laws of every policy; subclass one of the two below."""

    policy_class: ClassVar[type[contract.Policy]]
    """The policy under test."""

    settings: ClassVar[Sequence[policy_process.Settings]] = ({},)
    """Options to test it with; the others have their defaults."""

    timed_nodes: ClassVar[int] = MANY
    """Nodes on which the speed is measured, per :data:`MANY`."""

    _asked_elsewhere: ClassVar[dict[int, policy_process.Elsewhere]]

    @classmethod
    def setUpClass(cls) -> None:
        """Start without answers of other processes."""
        super().setUpClass()
        cls._asked_elsewhere = {}

    def nodes(self) -> Sequence[model.Node]:
        """Return further nodes, with the attributes of this policy."""
        return ()

    def note(self, text: str) -> None:
        """Report measurements to the author: speed, share of nodes."""
        sys.stderr.write(f'{self.policy_class.__name__}: {text}\n')

    def build(self, settings: policy_process.Settings) -> contract.Policy:
        """Build the policy as a host does."""
        target = self.policy_class
        return target(policy_process.with_defaults(target.options, settings))

    def samples(self, policy: contract.Policy) -> list[model.Node]:
        """Return new copies of the sample nodes for a policy."""
        found = sample_nodes.fleet(SAMPLES)
        if isinstance(policy, contract.FilterPolicy):
            scope = policy.scope()
            if isinstance(scope, model.Scope):
                found = [
                    *sample_nodes.fleet(SAMPLES // 2, scope),
                    *found[SAMPLES // 2 :],
                ]
        if 'extra' not in self.policy_class.node_fields:
            # As in a deployment: it is not requested from Ironic.
            found = [dataclasses.replace(node, extra={}) for node in found]
        return [*found, *copy.deepcopy(list(self.nodes()))]

    def built(self) -> Iterator[tuple[contract.Policy, str]]:
        """Yield a policy for each of its settings, and words for both."""
        for settings in self.settings:
            yield self.build(settings), f'with {dict(settings)!r}'

    def asked(self) -> Iterator[tuple[Any, list[model.Node], Any, str]]:
        """Yield policy, nodes, members and words for each situation."""
        for settings in self.settings:
            for hosts in self.memberships():
                policy = self.build(settings)
                words = f'with {dict(settings)!r} among {hosts!r}'
                yield policy, self.samples(policy), hosts, words

    def memberships(self) -> Sequence[Sequence[str]]:
        """Return the live members of each situation."""
        return policy_process.MEMBERS

    def answers(
        self,
        policy: contract.Policy,
        nodes: Sequence[model.Node],
        hosts: Sequence[str],
    ) -> dict[str, Any]:
        """Return the answers of the policy, by the node's uuid."""
        given = policy_process.answers(policy, nodes, hosts)
        return dict(zip((n.uuid for n in nodes), given, strict=False))

    def assert_same(self, expected: Any, found: Any, words: str) -> None:
        """Compare many answers; unittest takes minutes for all differences."""
        if expected != found:
            self.fail(f'{words}: {_first_difference(expected, found)}')

    def test_class_is_one_that_a_host_loads(self) -> None:
        self.assertIsNone(plugin_validation.policy_fault(self.policy_class))

    def test_every_option_has_a_help(self) -> None:
        for option in self.policy_class.options:
            self.assertTrue(option.help.strip(), option.name)

    def test_settings_can_be_advertised_and_are_no_secrets(self) -> None:
        secret = {o.name for o in self.policy_class.options if o.secret}
        for policy, words in self.built():
            settings = policy.settings()
            self.assertIsInstance(settings, Mapping, words)
            self.assertEqual(set(), secret & settings.keys(), words)
            advertised = model.MemberSettings(
                (model.PolicySettings.of('it', settings),)
            )
            try:
                read = model.MemberSettings.from_json(advertised.to_json())
            except (TypeError, ValueError) as exc:
                self.fail(f'{words}: {settings!r} is no JSON: {exc}')
            self.assertEqual(advertised, read, words)

    def test_settings_build_the_same_policy_again(self) -> None:
        for policy, nodes, hosts, words in self.asked():
            settings = policy.settings()
            try:
                again = self.policy_class(dict(settings))
            except Exception as exc:  # noqa: BLE001 - third-party code
                self.fail(f'{words}: cannot be built from them: {exc!r}')
            self.assertEqual(settings, again.settings(), words)
            self.assert_same(
                self.answers(policy, nodes, hosts),
                self.answers(again, nodes, hosts),
                words,
            )

    def test_remarks_are_lines(self) -> None:
        for policy, words in self.built():
            remarks = policy.remarks()
            self.assertNotIsInstance(remarks, str, words)
            for remark in remarks:
                self.assertIsInstance(remark, str, words)

    def test_host_is_accepted_or_refused_with_a_message(self) -> None:
        for policy, words in self.built():
            for host in policy_process.MEMBERS[-1]:
                try:
                    policy.check_host(host)
                except exceptions.PolicySettingsError as exc:
                    self.assertTrue(str(exc), words)

    def test_every_node_gets_an_answer(self) -> None:
        for policy, nodes, hosts, words in self.asked():
            scope = getattr(policy, 'scope', model.Scope)()
            strange = [*nodes[:3], *sample_nodes.odd(scope)]
            for few in ([], *([node] for node in strange), strange):
                try:
                    given = policy_process.answers(policy, few, hosts)
                except Exception as exc:  # noqa: BLE001 - third-party code
                    self.fail(f'{words}: {exc!r} for {few[:1]!r}')
                self.assertEqual(len(few), len(given), words)

    def test_same_question_gets_the_same_answer(self) -> None:
        for settings in self.settings:
            policy = self.build(settings)
            nodes = self.samples(policy)
            for hosts in (*self.memberships(), *self.memberships()):
                fresh = self.answers(self.build(settings), nodes, hosts)
                self.assert_same(
                    fresh,
                    self.answers(policy, nodes, hosts),
                    f'with {dict(settings)!r}: the answers depend on earlier '
                    'calls',
                )

    def test_order_of_the_nodes_means_nothing(self) -> None:
        for policy, nodes, hosts, words in self.asked():
            first = self.answers(policy, nodes, hosts)
            for seed in range(3):
                random.Random(seed).shuffle(nodes)  # noqa: S311 - an order
                self.assert_same(
                    first, self.answers(policy, nodes, hosts), words
                )

    def test_nodes_are_left_as_they_are(self) -> None:
        for policy, nodes, hosts, words in self.asked():
            before = copy.deepcopy(nodes)
            self.answers(policy, nodes, hosts)
            self.assert_same(before, nodes, words)

    def test_given_settings_are_left_as_they_are(self) -> None:
        for settings in self.settings:
            given = policy_process.with_defaults(
                self.policy_class.options, settings
            )
            before = copy.deepcopy(given)
            policy = self.policy_class(given)
            self.answers(policy, self.samples(policy), self.memberships()[-1])
            self.assertEqual(before, given)

    def test_every_process_gives_the_same_answers(self) -> None:
        nodes = self._json_samples()
        here = [
            policy_process.ask(policy, nodes) for policy, _ in self.built()
        ]
        for seed in (1, 2):
            self.assert_same(
                here,
                self._elsewhere(nodes, seed).answers,
                'another process answers differently',
            )

    def test_nothing_is_read_written_or_waited_for(self) -> None:
        outside = self._elsewhere(self._json_samples(), 1).outside
        self.assertEqual([], sorted(set(outside)))

    def test_threads_can_share_one_instance(self) -> None:
        for settings in self.settings:
            shared = self.build(settings)
            nodes = self.samples(shared)
            hosts = self.memberships()[-1]
            parts = [nodes[number::_THREADS] for number in range(_THREADS)]
            expected = [
                self.answers(self.build(settings), part, hosts)
                for part in parts
            ]
            self.assertEqual(
                [],
                interleaving.ask(
                    [
                        functools.partial(self.answers, shared, part, hosts)
                        for part in parts
                    ],
                    expected,
                ),
                f'with {dict(settings)!r}: other answers than for one thread',
            )

    def test_speed_is_reported(self) -> None:
        policy, _ = next(self.built())
        seconds = self._seconds(policy, self.memberships()[-1])
        self.note(f'{seconds:.2f} s per {MANY:,} nodes')

    def _seconds(self, policy: contract.Policy, hosts: Sequence[str]) -> float:
        spent = 0.0
        for count in (self.timed_nodes // 100, self.timed_nodes):
            scope = getattr(policy, 'scope', model.Scope)()
            nodes = sample_nodes.fleet(count, scope)
            started = time.perf_counter()
            policy_process.answers(policy, nodes, hosts)
            spent = (time.perf_counter() - started) * (MANY / count)
            if spent > _PATIENCE:
                break
        return spent

    def _json_samples(self) -> list[model.Node]:
        policy, _ = next(self.built())
        return [
            node
            for node in self.samples(policy)
            if _is_json(node.properties) and _is_json(node.extra)
        ]

    def _elsewhere(
        self, nodes: Sequence[model.Node], seed: int
    ) -> policy_process.Elsewhere:
        if seed not in self._asked_elsewhere:
            self._asked_elsewhere[seed] = policy_process.ask_elsewhere(
                self.policy_class, self.settings, nodes, hash_seed=seed
            )
        return self._asked_elsewhere[seed]


def _is_json(value: object) -> bool:
    try:
        return bool(json.loads(json.dumps(value)) == value)
    except (TypeError, ValueError):
        return False


def _first_difference(expected: Any, found: Any) -> str:
    if isinstance(expected, list) and isinstance(found, list):
        expected, found = dict(enumerate(expected)), dict(enumerate(found))
    if not isinstance(expected, dict) or not isinstance(found, dict):
        return f'{found!r} instead of {expected!r}'
    for key, value in expected.items():
        if key not in found:
            return f'{key}: missing'
        if found[key] != value:
            return f'{key}: {_first_difference(value, found[key])}'
    return f'unexpected {sorted(map(str, found.keys() - expected.keys()))}'
