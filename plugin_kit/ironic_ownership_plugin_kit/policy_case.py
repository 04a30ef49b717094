"""Questions of the contract suites to a policy, and comparison of answers."""

from __future__ import annotations

import copy
import dataclasses
import functools
import sys
import unittest
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

from ironic_ownership.contracts import model
from ironic_ownership.contracts import policy as contract
from ironic_ownership_plugin_kit import (
    own_code,
    policy_process,
    sample_nodes,
    time_limit,
)
from ironic_ownership_plugin_kit.option_values import Given, derive

SAMPLES = 240
"""Everyday nodes on which each law is checked, and most of a fleet."""

MANY = 100_000
"""Nodes for which the time is reported."""

_SHOWN = 160
"""Longest text of one value in a message."""


class PolicyCase(unittest.TestCase):
    """A policy with nodes, members and settings to ask it about.

    :cvar policy_class: the policy under test.
    :cvar settings: options to test it with, and snapshots of sources by name;
        the others have their defaults, and no snapshot.
    :cvar peer_values: what members advertise for themselves, one of them for
        each host. By default several values are derived from each option with
        ``per_member``: that of the first ``settings``, and others that the
        policy accepts.
    :cvar tried_values: values to derive ``peer_values`` from, by the name of
        the option.
    :cvar fleet: nodes of a deployment: each of them has to get an answer, and
        every law is checked on some of them.
    :cvar timed_nodes: nodes on which the speed is measured, per :data:`MANY`.
    :cvar time_limit: seconds after which a law is interrupted, and fails.
    """

    policy_class: ClassVar[type[contract.Policy]]

    settings: ClassVar[Sequence[policy_process.Settings]] = ({},)

    peer_values: ClassVar[policy_process.Values] = ()

    tried_values: ClassVar[Given] = {}

    fleet: ClassVar[Sequence[model.Node]] = ()

    timed_nodes: ClassVar[int] = MANY // 10

    time_limit: ClassVar[float] = 60.0

    def setUp(self) -> None:
        super().setUp()
        limit = time_limit.limited(self.time_limit, self.policy_class.__name__)
        self.enterContext(limit)

    def nodes(self) -> Sequence[model.Node]:
        """Return further nodes, with the attributes of this policy."""
        return ()

    def note(self, text: str) -> None:
        """Report measurements to the author: speed, share of nodes."""
        sys.stderr.write(f'{self.policy_class.__name__}: {text}\n')

    def inapplicable(self, reason: str) -> None:
        """Report that a law says nothing about this policy."""

    def build(self, settings: policy_process.Settings) -> contract.Policy:
        """Build the policy as a host does."""
        target = self.policy_class
        return target(policy_process.values_of(target, settings))

    def samples(self, policy: contract.Policy) -> list[model.Node]:
        """Return new copies of the sample nodes for a policy."""
        scope = getattr(policy, 'scope', model.Scope)()
        if not isinstance(scope, model.Scope):
            scope = model.Scope()
        found = [
            *sample_nodes.fleet(SAMPLES // 2, scope),
            *sample_nodes.fleet(SAMPLES)[SAMPLES // 2 :],
            *sample_nodes.with_constants(self._constants, scope),
        ]
        step = max(1, len(self.fleet) // SAMPLES)
        found = self.as_requested([*found, *self.fleet[::step]])
        return [*found, *copy.deepcopy(list(self.nodes()))]

    def as_requested(self, nodes: Sequence[model.Node]) -> list[model.Node]:
        """Return nodes as Ironic gives them, with the requested fields only.

        The others note if a policy reads them that does not request them.
        """
        requested = self.policy_class.node_fields
        names = [name for name in requested if name != 'extra']
        return [
            dataclasses.replace(
                node,
                extra=node.extra
                if 'extra' in requested
                else sample_nodes.Requested('extra'),
                fields=sample_nodes.Requested(
                    'fields',
                    {name: node.fields.get(name) for name in names},
                ),
            )
            for node in nodes
        ]

    @functools.cached_property
    def _constants(self) -> Sequence[str | int]:
        return own_code.Code(self.policy_class).constants()

    @functools.cached_property
    def advertised(self) -> policy_process.Values:
        """Values that members advertise for themselves, one for each host."""
        return self.peer_values or derive(
            self.policy_class, next(iter(self.settings), {}), self.tried_values
        )

    def built(self) -> Iterator[tuple[contract.Policy, str]]:
        """Yield a policy for each of its settings, and words for both."""
        for settings in self.settings:
            yield self.build(settings), f'with {dict(settings)!r}'

    def asked(self) -> Iterator[tuple[Any, list[model.Node], Any, str]]:
        """Yield policy, nodes, members and words for each situation."""
        for settings in self.settings:
            for hosts in self.memberships():
                policy = self.build(settings)
                words = (
                    f'with {dict(settings)!r} {policy_process.among(hosts)}'
                )
                yield policy, self.samples(policy), hosts, words

    def memberships(self) -> Sequence[Sequence[str]]:
        """Return the live members of each situation."""
        return policy_process.MEMBERS

    def answers(
        self,
        policy: contract.Policy,
        nodes: Sequence[model.Node],
        hosts: Sequence[str],
        owners: Mapping[str, str] | None = None,
    ) -> dict[str, Any]:
        """Return the answers of the policy, by the node's uuid."""
        given = policy_process.answers(
            policy, nodes, hosts, self.advertised, owners
        )
        return dict(
            zip((f'node {n.uuid}' for n in nodes), given, strict=False)
        )

    def assert_same(self, expected: Any, found: Any, words: str) -> None:
        """Compare many answers, and name the first that differs."""
        if expected != found:
            self.fail(f'{words}: {first_difference(expected, found)}')

    @staticmethod
    def short(value: object) -> str:
        """Return the text of a value, cut to a readable length."""
        return _short(value)


def first_difference(expected: Any, found: Any) -> str:
    """Return the first difference of two answers, in words."""
    if isinstance(expected, list) and isinstance(found, list):
        expected, found = dict(enumerate(expected)), dict(enumerate(found))
    if not isinstance(expected, dict) or not isinstance(found, dict):
        return f'{_short(found)} instead of {_short(expected)}'
    for key, value in expected.items():
        if key not in found:
            return f'{key}: missing'
        if found[key] != value:
            return f'{key}: {first_difference(value, found[key])}'
    for key in found:
        if key not in expected:
            return f'{key}: unexpected'
    return 'they compare as different, and no part of them does'


def _short(value: object) -> str:
    try:
        text = repr(value)
    except Exception as exc:  # noqa: BLE001 - third-party code
        text = f'a {type(value).__name__} whose repr() raises {exc!r}'
    return f'{text[:_SHOWN]}...' if len(text) > _SHOWN else text
