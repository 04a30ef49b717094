"""Laws of filters and assigners alike.

``policy`` has the suites to subclass.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from typing import Any

from ironic_ownership.contracts import model
from ironic_ownership.contracts import policy as contract
from ironic_ownership.engine.decision import plugin_guard
from ironic_ownership_plugin_kit import (
    determinism_laws,
    option_values,
    policy_process,
    sample_nodes,
    settings_laws,
)
from ironic_ownership_plugin_kit.policy_case import MANY

_PATIENCE = 4.0
"""Seconds after which the time for the rest is extrapolated."""


class PolicyContract(
    settings_laws.SettingsLaws, determinism_laws.DeterminismLaws
):
    """Laws of every policy; subclass one of the two suites."""

    def test_every_node_gets_an_answer(self) -> None:
        fleet = self.as_requested(self.fleet)
        for policy, nodes, hosts, words in self.asked():
            scope = getattr(policy, 'scope', model.Scope)()
            odd = self.as_requested([*sample_nodes.odd(scope)])
            strange = [*nodes[:3], *odd]
            # One by one among few and among many members.
            ends = self.memberships()[0], self.memberships()[-1]
            alone = [[node] for node in strange] if hosts in ends else []
            for few in ([], *alone, [*nodes, *odd], fleet):
                given = self._answered(policy, few, hosts, words)
                self.assertEqual(len(few), len(given), words)
            for values in option_values.unusual(
                self.policy_class, self.advertised
            ):
                text = f'{words} that advertise {self.short(values)}'
                self._answered(policy, nodes, hosts, text, values)

    def _answered(
        self,
        policy: contract.Policy,
        nodes: Sequence[model.Node],
        hosts: Sequence[str],
        words: str,
        values: policy_process.Values | None = None,
    ) -> Sequence[Any]:
        values = self.advertised if values is None else values
        try:
            return policy_process.answers(policy, nodes, hosts, values)
        except Exception as exc:  # noqa: BLE001 - third-party code
            if len(nodes) > 1:
                for node in nodes:
                    self._answered(policy, [node], hosts, words, values)
            if len(nodes) == 1:
                which = f'node {nodes[0].uuid}: {self.short(nodes[0])}'
            elif nodes:
                which = f'{len(nodes)} nodes, and for none of them alone'
            else:
                which = 'an empty list of nodes'
            self.fail(f'{words}: {self.short(exc)} for {which}')

    def test_speed_is_reported(self) -> None:
        policy, _ = next(self.built())
        seconds, power = self._seconds(policy, self.memberships()[-1])
        text = f'{seconds:.2f} s of processor time per {MANY:,} nodes'
        if seconds > plugin_guard.LONGEST:
            self.fail(
                f'{text}, and a host waits {plugin_guard.LONGEST:g} s; it '
                f'grows with the number of nodes to the power of {power:.1f}'
            )
        self.note(text)

    def _seconds(
        self, policy: contract.Policy, hosts: Sequence[str]
    ) -> tuple[float, float]:
        """Return the seconds for many nodes, and how they grow."""
        scope = getattr(policy, 'scope', model.Scope)()
        sizes = [(0, 0.0)]
        for share in (100, 10, 1):
            count = max(1, self.timed_nodes // share)
            nodes = self.as_requested(sample_nodes.fleet(count, scope))
            # The time of this thread: other processes may keep the machine
            # busy.
            used = time.thread_time()
            policy_process.answers(policy, nodes, hosts, self.advertised)
            sizes.append((count, time.thread_time() - used))
            # The next round is ten times as long, or a hundred.
            if 10 * sizes[-1][1] > _PATIENCE:
                break
        (few, first), (count, spent) = sizes[-2:]
        power = 1.0
        if few < count and 0 < first < spent:
            power = max(power, math.log(spent / first, count / few))
        return spent * (MANY / count) ** power, power
