"""What the operator reads of a service's work: each change, each trouble once.

Says things and remembers what it said; changes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from oslo_log import log

from ironic_ownership.contracts import model, reasons
from ironic_ownership.contracts.records import (
    Change,
    Claim,
    Forget,
    Release,
    Update,
)
from ironic_ownership.engine.conditions import Conditions
from ironic_ownership.engine.decision import policy_set
from ironic_ownership.engine.decision.peer_groups import PeerGroups
from ironic_ownership.engine.deletion import missing_nodes
from ironic_ownership.engine.gates import GateResult
from ironic_ownership.engine.host import reconcile_plan

LOG = log.getLogger(__name__)


class OperatorLog:
    """The log of one service's refreshes.

    Threading: the refresh thread only, unless said otherwise.
    """

    def __init__(self, host: str, conditions: Conditions) -> None:
        self._host = host
        self._conditions = conditions
        self._withholding: set[str] = set()

    def changed(self, change: Change) -> None:
        """Log one change that was carried out: one line a change."""
        match change:
            case Claim():
                self._owner_changed(
                    change.uuid, change.seen_host, self._host, change.reason
                )
            case Release() | Forget():
                self._owner_changed(
                    change.uuid, self._host, None, change.reason
                )
            case Update():
                LOG.info(
                    'node %s: record updated, instance %s, %s',
                    change.uuid,
                    change.node.instance_uuid or 'none',
                    _judged(change),
                )

    def planned(self, made: reconcile_plan.Plan) -> None:
        """Warn of the nodes that need an operator."""
        for owner, uuids in sorted(made.withheld.items()):
            self._conditions.report(
                f'withheld {owner}',
                f'{len(uuids)} nodes that {self._host} should own are on '
                f'record with {owner}, as is {uuids[0]}. Stop {owner} '
                'and move them: ironic-ownership compute node move '
                f'{uuids[0]} --service {self._host}',
            )
        for owner in self._withholding - made.withheld.keys():
            self._conditions.clear(
                f'withheld {owner}', f'no more nodes withheld by {owner}'
            )
        self._withholding = set(made.withheld)
        if made.undecided:
            self._conditions.report(
                'undecided',
                'no node changes owner until it is certain whether these '
                f'are alive: {", ".join(sorted(made.undecided))}',
            )
        else:
            self._conditions.clear('undecided', 'it is certain who is alive')
        self._some(
            'contested',
            made.contested,
            'admitted by several services',
            'ironic-ownership compute node explain {} tells which',
        )
        self._some(
            'filtered',
            made.filtered,
            'owned here, but out of scope',
            'Set shard and conductor group back, or move them: '
            'ironic-ownership compute node move {} --service HOST',
        )

    def starts_with(self, policies: policy_set.PolicySet) -> None:
        """Warn of a deprecated assigner as soon as it is configured."""
        assigner = policies.assigner
        if assigner is not None and assigner.deprecated:
            self._conditions.report(
                'deprecated at start',
                f'a deprecated policy is configured: {assigner.deprecated}',
            )

    def decides_with(self, services: PeerGroups) -> None:
        """Warn of a deprecated assigner that really shares nodes."""
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

    def policies_are_slow(self, what: str) -> None:
        """Warn of policies that do not come to an end. Any thread."""
        self._conditions.report(
            'slow policies',
            f'{what}: until it answers nothing is decided, and no owner '
            'changes',
        )

    def policies_are_in_time(self) -> None:
        """Say that the policies decide fast enough again."""
        self._conditions.clear('slow policies', 'policies are in time again')

    def is_forced_down(self, row: model.Service | None) -> bool:
        """Tell whether the own service is forced down, and say so once."""
        if row is not None and row.forced_down:
            self._conditions.report(
                'forced_down',
                f'service {self._host} is forced down: it changes nothing '
                'until that is taken back',
            )
            return True
        self._conditions.clear('forced_down', 'no longer forced down')
        return False

    def is_mass_loss(self, found: missing_nodes.Findings, owned: int) -> bool:
        """Tell whether too many own nodes are missing, and say so once."""
        if found.mass_loss:
            self._conditions.report(
                'mass_loss',
                f'{found.unexplained} of {owned} own nodes are missing from '
                'Ironic at once: nothing is changed. Check Ironic and this '
                "service's credential; see [ownership] mass_loss_share",
            )
            return True
        self._conditions.clear('mass_loss', 'no mass loss any more')
        return False

    def kept_records(self, kept: Mapping[str, Sequence[GateResult]]) -> None:
        """Warn of records that a gate protects from deletion.

        :param kept: the gates that are not passed, by the node's uuid.
        """
        if not kept:
            self._conditions.clear(
                'kept', 'no more records are kept by a gate'
            )
            return
        gates = sorted({r.gate for some in kept.values() for r in some})
        one = min(kept)
        self._conditions.report(
            'kept',
            'records of nodes that Ironic answers 404 for are kept, refused '
            f'by: {", ".join(gates)}. See: ironic-ownership compute node '
            f'check-delete {one}',
        )

    def without_placement(self) -> None:
        """Say that deletions do not look at allocations."""
        LOG.info(
            '[placement] is not configured: records are deleted without a '
            'look at allocations, and providers are left alone'
        )

    def _owner_changed(
        self,
        uuid: str,
        before: str | None,
        after: str | None,
        reason: reasons.Reason,
    ) -> None:
        LOG.info(
            'node %s: owner %s -> %s, reason %s',
            uuid,
            before or 'nobody',
            after or 'nobody',
            reason.value,
        )

    def _some(
        self, condition: str, uuids: Sequence[str], what: str, hint: str
    ) -> None:
        if uuids:
            one = min(uuids)
            self._conditions.report(
                condition,
                f'{len(uuids)} nodes {what}, as {one}. {hint.format(one)}',
            )
        else:
            self._conditions.clear(condition, f'no more nodes {what}')


def _judged(update: Update) -> str:
    verdict = update.availability
    if verdict is None:
        return 'not judged'
    if verdict.code is None:
        return 'available'
    return f'{verdict.code}: {verdict.detail}'
