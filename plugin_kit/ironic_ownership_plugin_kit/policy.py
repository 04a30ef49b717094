"""Contract suites of ownership policies, to subclass.

Usage::

    from ironic_ownership_plugin_kit import policy


    class TestMyFilter(policy.FilterPolicyContract):
        policy_class = MyFilter
        settings = ({'rack': 'r1'}, {'rack': ''})

Name each combination of options that is worth a test. Override ``nodes()``
where the sample nodes lack what the policy decides by. Another process has to
be able to import the class of the policy.
"""

from __future__ import annotations

import functools
import math
import random
import time
from collections.abc import Mapping, Sequence
from typing import Any

from ironic_ownership.contracts import exceptions, model
from ironic_ownership.contracts import policy as contract
from ironic_ownership.engine import plugin_guard
from ironic_ownership.engine.decision import policy_set
from ironic_ownership_plugin_kit import (
    determinism_laws,
    option_values,
    policy_process,
    sample_nodes,
    settings_laws,
    shares,
)
from ironic_ownership_plugin_kit.policy_case import MANY

_PATIENCE = 4.0
"""Seconds after which the time for the rest is extrapolated."""
_MEASUREMENTS = 3
"""Those of the speed, each of which a slow policy fails."""
_MOVING = 960
"""Nodes of which a part moves."""
_LEAVING = 6
"""Members of one situation that leave in turn."""


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
        # A collection of garbage, or a machine that was paused, may slow one
        # of them down.
        for _ in range(_MEASUREMENTS):
            seconds, power = self._seconds(policy, self.memberships()[-1])
            if seconds <= plugin_guard.LONGEST:
                break
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


class FilterPolicyContract(PolicyContract):
    """Laws of a filter."""

    def memberships(self) -> Sequence[Sequence[str]]:
        return ((),)

    def test_answers_are_true_or_false(self) -> None:
        for policy, nodes, hosts, words in self.asked():
            for node, answer in self.answers(policy, nodes, hosts).items():
                if not isinstance(answer, bool):
                    self.fail(f'{words}: {self.short(answer)} for {node}')

    def test_scope_is_one_and_stays_the_same(self) -> None:
        for policy, words in self.built():
            assert isinstance(policy, contract.FilterPolicy)
            scope = policy.scope()
            self.assertIsInstance(scope, model.Scope, words)
            self.answers(policy, self.samples(policy), ())
            self.assertEqual(scope, policy.scope(), words)

    def test_admitted_nodes_are_in_the_scope(self) -> None:
        admitted = asked = 0
        for policy, nodes, hosts, words in self.asked():
            given = self.answers(policy, nodes, hosts)
            asked += len(nodes)
            for node in nodes:
                if not given[f'node {node.uuid}']:
                    continue
                admitted += 1
                if not policy.scope().matches(
                    node.shard, node.conductor_group
                ):
                    self.fail(
                        f'{words}: it admits node {node.uuid}, of shard '
                        f'{node.shard} and group {node.conductor_group!r}, '
                        f'out of {policy.scope()}'
                    )
        self.note(f'admits {admitted} of {asked} sample nodes')


class AssignerPolicyContract(PolicyContract):
    """Laws of an assigner."""

    def test_every_owner_is_a_live_member_or_none(self) -> None:
        for policy, nodes, hosts, words in self.asked():
            owners = policy_process.owners_on_record(policy, nodes, hosts)
            try:
                policy_set.PolicySet((), policy).choose(
                    nodes,
                    policy_process.peers(policy, hosts, self.advertised),
                    owners,
                )
            except exceptions.PluginFaultError as exc:
                self.fail(f'{words}: {exc}')

    def test_order_of_the_members_means_nothing(self) -> None:
        for policy, nodes, hosts, words in self.asked():
            first = self.answers(policy, nodes, hosts)
            for seed in range(3):
                mixed = list(hosts)
                random.Random(seed).shuffle(mixed)  # noqa: S311 - an order
                self.assert_same(
                    first, self.answers(policy, nodes, tuple(mixed)), words
                )
            mixed = [*reversed(hosts)]
            for host in hosts:
                self.assert_same(
                    policy.peers(host, hosts, model.Scope()),
                    policy.peers(host, tuple(mixed), model.Scope()),
                    f'{words}: the peers of {host}',
                )

    def test_peers_are_hosts_and_include_the_host_itself(self) -> None:
        scopes = model.Scope(), model.Scope(shard='a')
        for policy, _, hosts, words in self.asked():
            found = {
                (host, scope): policy.peers(host, hosts, scope)
                for scope in scopes
                for host in hosts
                if _runs_on(policy, host)
            }
            for (host, scope), peers in found.items():
                what = f'{words}: the peers of {host}'
                self.assertIsInstance(peers, frozenset, what)
                self.assertEqual({str}, set(map(type, peers)), what)
                if host not in peers:
                    self.fail(f'{what} lack it: {self.short(peers)}')
                for peer in sorted(peers):
                    if host not in found.get((peer, scope), (host,)):
                        self.fail(
                            f'{what} are {self.short(peers)}, and {peer} '
                            'does not name it as one'
                        )

    def test_answers_node_by_node_need_no_other_nodes(self) -> None:
        if not getattr(self.policy_class, 'node_by_node', False):
            self.inapplicable('it is not node_by_node')
            return
        for policy, nodes, hosts, words in self.asked():
            all_at_once = self.answers(policy, nodes, hosts)
            for node in nodes[::4]:
                key = f'node {node.uuid}'
                alone = self.answers(policy, [node], hosts)
                self.assert_same({key: all_at_once[key]}, alone, words)

    def test_shares_depend_on_no_number_and_no_names_of_members(self) -> None:
        for settings in self.settings:
            policy = self.build(settings)
            assert isinstance(policy, contract.AssignerPolicy)
            nodes = self.as_requested(sample_nodes.fleet(shares.NODES))
            skewed = shares.skew(
                functools.partial(policy_process.answers, policy), nodes
            )
            if skewed is not None:
                self.fail(f'with {dict(settings)!r}: {skewed}')

    def test_no_more_nodes_move_than_declared(self) -> None:
        if not getattr(self.policy_class, 'rebalancing', False):
            self.inapplicable('it is not rebalancing')
            return
        bound = getattr(self.policy_class, 'extra_movement', 0.0)
        most = 0.0
        for settings in self.settings:
            nodes = [
                *self.as_requested(sample_nodes.fleet(_MOVING)),
                *self.nodes(),
            ]
            for hosts in self.memberships():
                some = hosts[:: max(1, len(hosts) // _LEAVING)]
                for gone in some if len(hosts) > 1 else ():
                    moved = self._moved(settings, nodes, hosts, gone)
                    most = max(most, moved / len(nodes))
                    self.assertLessEqual(
                        moved,
                        bound * len(nodes),
                        f'with {dict(settings)!r}: {moved} of {len(nodes)} '
                        f'nodes move between others when {gone} leaves or '
                        f'joins {policy_process.among(hosts)}; '
                        f'extra_movement is {bound}',
                    )
        self.note(f'extra movement {most:.4f}, declared {bound}')

    def _as_owners(self, answers: Mapping[str, Any]) -> dict[str, str]:
        if not getattr(self.policy_class, 'reads_owners', False):
            return {}
        return {
            key.removeprefix('node '): owner
            for key, owner in answers.items()
            if owner is not None
        }

    def test_own_answers_as_the_owners_change_nothing(self) -> None:
        if not getattr(self.policy_class, 'reads_owners', False):
            self.inapplicable('it does not read owners')
            return
        for policy, nodes, hosts, words in self.asked():
            first = self.answers(policy, nodes, hosts)
            self.assert_same(
                first,
                self.answers(policy, nodes, hosts, self._as_owners(first)),
                f'{words}, when the records follow its answers',
            )

    def test_expected_shares_name_every_member(self) -> None:
        declared = False
        for policy, _, hosts, words in self.asked():
            for values in (
                self.advertised,
                *option_values.unusual(self.policy_class, self.advertised),
            ):
                peers = policy_process.peers(policy, hosts, values)
                try:
                    found = policy_set.PolicySet((), policy).shares(peers)
                except exceptions.PluginFaultError as exc:
                    self.fail(f'{words} that advertise {values}: {exc}')
                declared = declared or bool(found)
        if not declared:
            self.inapplicable('it declares no expected shares')

    def test_members_differ_in_their_values(self) -> None:
        for name, values in self.tried_values.items():
            for value in values:
                try:
                    self.build({**next(iter(self.settings), {}), name: value})
                except Exception as exc:  # noqa: BLE001 - third-party code
                    self.fail(f'{name} = {value!r}: {exc}')
        found = option_values.distinct(self.policy_class, self.advertised)
        if not found:
            self.inapplicable('members advertise nothing of their own')
            return
        alike = [name for name, values in found.items() if len(values) < 2]
        text = '; '.join(
            f'{name}: {", ".join(map(self.short, values))}'
            for name, values in found.items()
        )
        self.note(text)
        if alike:
            self.inapplicable(
                f'{text}; no other value of {", ".join(alike)} is known: give '
                'some, by --peer-value or in tried_values'
            )

    def _moved(
        self,
        settings: policy_process.Settings,
        nodes: Sequence[model.Node],
        hosts: Sequence[str],
        gone: str,
    ) -> int:
        """Count the nodes that change owner without need.

        These nodes neither belonged to the one that leaves nor go to the one
        that joins. The two differ for a policy that reads owners only.
        """
        rest = tuple(host for host in hosts if host != gone)

        def answers(
            hosts: Sequence[str], before: Mapping[str, Any]
        ) -> dict[str, Any]:
            owners = self._as_owners(before)
            return self.answers(self.build(settings), nodes, hosts, owners)

        whole, less = answers(hosts, {}), answers(rest, {})
        return max(
            sum(owner not in (gone, after[uuid]) for uuid, owner in of.items())
            for of, after in (
                (whole, answers(rest, whole)),
                (answers(hosts, less), less),
            )
        )


def _runs_on(policy: contract.Policy, host: str) -> bool:
    try:
        policy.check_host(host)
    except exceptions.PolicySettingsError:
        return False
    return True
