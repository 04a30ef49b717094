"""Log of a service's work for operators: one line for each change or problem.

Logs a problem when it appears, when it changes, and when it is over. Changes
nothing.
"""

from __future__ import annotations

import collections
import datetime
import logging
import math
import threading
from collections.abc import Collection, Mapping, Sequence

from oslo_log import log

from ironic_ownership.contracts import exceptions
from ironic_ownership.contracts.conditions import Loop
from ironic_ownership.contracts.records import (
    Change,
    Claim,
    Delete,
    Outcome,
    Release,
    Update,
)
from ironic_ownership.contracts.texts import counted
from ironic_ownership.engine.conditions import (
    LOST_COMMITS,
    MASS_LOSS,
    Conditions,
)
from ironic_ownership.engine.decision import policy_set
from ironic_ownership.engine.decision.peer_groups import PeerGroups
from ironic_ownership.engine.deletion import missing_nodes
from ironic_ownership.engine.gates import GateResult
from ironic_ownership.engine.host import reconcile_plan

LOG = log.getLogger(__name__)

Key = tuple[str, str]

FENCED: Key = ('fence', '')
"""Key of a service that was declared dead by this one."""

_LOSSES = {
    True: ('mass_loss', 'own nodes', 'no record', 'mass loss is over'),
    False: (
        'unowned loss',
        'unowned nodes in scope',
        'none of their records',
        'mass loss of unowned nodes is over',
    ),
}
"""Condition and words of a loss, by whether the nodes are own ones."""

_ANY_OTHER = 'any other service'


class OperatorLog:
    """The log of one service.

    Threading: the refresh thread only, but :meth:`changed` and
    :meth:`changes` in any.
    """

    def __init__(self, host: str, conditions: Conditions) -> None:
        self._lock = threading.Lock()
        # A reader notices the first one only if there were none before.
        self._changes: collections.Counter[Key] = collections.Counter(
            {FENCED: 0}
        )
        self._host = host
        self._conditions = conditions
        # Conditions of other services, each with what is logged when it is
        # over: those of the last refresh, and those of this one.
        self._before: dict[str, str] = {}
        self._found: dict[str, str] = {}

    def changes(self) -> Mapping[Key, int]:
        """Return the changes since the start, by kind and reason code.

        They only grow.
        """
        with self._lock:
            return dict(self._changes)

    def applied(self, outcome: Outcome) -> None:
        """Log the changes of one transaction, fences first."""
        with self._lock:
            self._changes[FENCED] += len(outcome.fenced)
        for owner, cause in sorted(
            reconcile_plan.taken_over(self._host, outcome)
        ):
            if owner in outcome.fenced:
                LOG.warning(
                    'fenced %s: %s, seen missing by %s',
                    owner,
                    cause,
                    self._host,
                )
        for change in outcome.applied:
            self.changed(change)

    def took_over(self, taken: Mapping[reconcile_plan.Death, int]) -> None:
        """Log the nodes that one round took over."""
        for (owner, cause), number in sorted(taken.items()):
            LOG.info(
                'took over %s of %s: %s, seen missing by %s',
                counted(number, 'free node'),
                owner,
                cause,
                self._host,
            )

    def changed(self, change: Change) -> None:
        """Log one change that was written."""
        reason = ''
        if isinstance(change, Update):
            LOG.info(
                'node %s: record updated, instance %s, %s',
                change.uuid,
                change.node.instance_uuid or 'none',
                _availability(change),
            )
        elif isinstance(change, Claim | Release | Delete):
            owners = self._host, 'none'
            if isinstance(change, Claim):
                owners = change.seen_host or 'none', self._host
            reason = change.reason.value
            LOG.info(
                'node %s: owner %s -> %s, reason %s',
                change.uuid,
                *owners,
                reason,
            )
        else:
            return
        with self._lock:
            self._changes[type(change).__name__.lower(), reason] += 1

    def lost_commits(self, lost: Mapping[str, int]) -> None:
        """Report that records became older, until that is confirmed.

        :param lost: changes that were lost, by service.
        """
        now = datetime.datetime.now(datetime.UTC).isoformat(' ', 'seconds')
        services = ', '.join(
            f'{counted(number, "change")} of {host}'
            for host, number in sorted(lost.items())
        )
        self._conditions.report(
            LOST_COMMITS,
            'the database lost commits, by the promotion of a standby or the '
            f'restore of a backup: {services}, at {now}. Everything is read '
            'again; what operators changed last may be lost',
            code=LOST_COMMITS,
            level=logging.ERROR,
        )

    def fails_for_others(
        self, hosts: Collection[str], error: exceptions.OwnershipError
    ) -> None:
        """Warn of policies of other services that fail in this process."""
        names = ', '.join(sorted(hosts))
        condition = f'policies of {names}'
        # It may name another node each time: the first of a refresh does.
        if condition in self._found:
            return
        over = 'the policies of the other services work again'
        self._found[condition] = over
        self._conditions.report(
            condition,
            f'nodes that may belong to {names} stay as they are: {error}',
            error,
        )

    def planned(self, plan: reconcile_plan.Plan) -> None:
        """Warn of the nodes that need an operator."""
        for owner, uuids in sorted(plan.withheld.items()):
            condition = f'withheld {owner}'
            self._found[condition] = f'no more nodes withheld by {owner}'
            self._conditions.report(
                condition,
                f'on record with {owner}: {counted(len(uuids), "node")} that '
                f'{self._host} should own, for example {uuids[0]}. Run '
                f'{self._move(uuids[0], owner)}',
            )
        for condition in self._before.keys() - self._found.keys():
            self._conditions.clear(condition, self._before[condition])
        self._before, self._found = self._found, {}
        if plan.suspects:
            self._conditions.report(
                'suspects',
                'changes of owner deferred: these services may be dead or '
                f'alive: {", ".join(sorted(plan.suspects))}',
            )
        else:
            self._conditions.clear(
                'suspects', 'changes of owner resumed: no suspected services'
            )
        self._nodes(
            'contested',
            plan.contested,
            'admitted by several services',
            'Run "ironic-ownership compute node explain {}" to see them'
            + self._how_to_take(plan.contested),
        )
        self._nodes(
            'filtered',
            plan.filtered,
            'owned here, but out of scope',
            'Restore shard and conductor group, or run "ironic-ownership '
            'compute node move {} --to HOST"',
        )

    def paused(self, number: int) -> None:
        """Warn of nodes that keep their owner because of a pause."""
        if number:
            self._conditions.report(
                'paused',
                f'{counted(number, "change")} of owner waiting: an operator '
                'paused them. "ironic-ownership pause list" shows until when',
            )
        else:
            self._conditions.clear('paused', 'no change of owner is paused')

    def delayed(self, number: int, seconds: float) -> None:
        """Report changes of owner that wait for the budget."""
        if number:
            text = f'{counted(number, "change")} of owner waiting for '
            self._conditions.note(
                Loop.REFRESH,
                f'{text}[ownership] handover_rate or handover_share, for at '
                f'least {counted(math.ceil(seconds / 60), "minute")}',
            )
        else:
            self._conditions.note(Loop.REFRESH, '')

    def _how_to_take(self, contested: Mapping[str, str | None]) -> str:
        for uuid, owner in sorted(contested.items()):
            if owner is not None:
                return (
                    f'; to give them to {self._host}: '
                    f'{self._move(uuid, owner)}'
                )
        return ''

    def _move(self, uuid: str, owner: str) -> str:
        return (
            f'"ironic-ownership compute node move {uuid} --to '
            f'{self._host}"; before that stop {owner} if it has an instance'
        )

    def starts_with(self, policies: policy_set.PolicySet) -> None:
        """Warn of a deprecated assigner at the start."""
        assigner = policies.assigner
        if assigner is None or not assigner.deprecated:
            return
        advice = assigner.deprecated
        if policies.scope.shard is not None and policies.peers(
            self._host, (self._host, _ANY_OTHER)
        ) == {self._host}:
            advice = (
                'with [ironic] shard_key it has no effect, each service owns '
                'its nodes alone. Remove it from [ownership] policies, with '
                'its options, and restart'
            )
        self._conditions.report(
            'deprecated at start',
            f'a deprecated policy is configured: {advice}',
        )

    def decides_with(self, services: PeerGroups) -> None:
        """Warn of a deprecated assigner that shares nodes among peers."""
        group = services.group_of.get(self._host)
        assigner = group.policies.assigner if group else None
        if group is None or assigner is None or not assigner.deprecated:
            return
        if len(group.peers) > 1:
            self._conditions.report(
                'deprecated',
                f'nodes are shared among {len(group.peers)} peers, which is '
                f'deprecated: {assigner.deprecated}',
            )

    def is_mass_loss(
        self, found: missing_nodes.Findings, number: int, *, owned: bool = True
    ) -> bool:
        """Tell whether too many nodes are missing, and log it.

        :param owned: whether they are own nodes, or unowned ones.
        """
        condition, nodes, none, over = _LOSSES[owned]
        if not found.mass_loss:
            self._conditions.clear(condition, over)
            return False
        self._conditions.report(
            condition,
            f'mass loss: {found.unexplained} of {number} {nodes} are missing '
            f"from Ironic: {none} is deleted. Check Ironic and this service's "
            'credential; see [ownership] mass_loss_share',
            code=MASS_LOSS,
        )
        return True

    def kept_records(self, kept: Mapping[str, Sequence[GateResult]]) -> None:
        """Warn of records that a gate protects from deletion.

        :param kept: the gates that refuse, by the node's uuid.
        """
        if not kept:
            self._conditions.clear('kept', 'no more records kept by a gate')
            return
        gates = sorted({r.gate for some in kept.values() for r in some})
        one = min(kept)
        self._conditions.report(
            'kept',
            f'{counted(len(kept), "record")} kept although Ironic answers '
            f'404 for the nodes; refused by: {", ".join(gates)}. Run '
            f'"ironic-ownership compute node check-delete {one}" to see why',
        )

    def _nodes(
        self, condition: str, uuids: Collection[str], what: str, hint: str
    ) -> None:
        if uuids:
            one = min(uuids)
            self._conditions.report(
                condition,
                f'{counted(len(uuids), "node")} {what}, for example {one}. '
                f'{hint.format(one)}',
            )
        else:
            self._conditions.clear(condition, f'no more nodes {what}')


def _availability(update: Update) -> str:
    found = update.availability
    if found is None:
        return 'not evaluated'
    if found.code is None:
        return 'available'
    return f'{found.code}: {found.detail}'
