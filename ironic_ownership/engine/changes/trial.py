"""Trial of moves: some nodes first, verified, then the rest or all back.

A trial is on record with its move: one that is interrupted goes on where it
was, forward or back. Nodes go back as in a planned hand-over: they are
released and held, and their source gets them when no permission of the
destination lasts any more, whether they have an instance or not.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

from oslo_log import log

from ironic_ownership.contracts import exceptions
from ironic_ownership.contracts.conditions import (
    ALLOWANCE,
    ConditionReport,
    Loop,
)
from ironic_ownership.contracts.moves import (
    HandOver,
    NodeMove,
    NodeState,
    Trial,
)
from ironic_ownership.contracts.refusals import (
    DecidedTrialError,
    LostMoveError,
    UnfinishedMoveError,
)
from ironic_ownership.engine.changes.case import Proposal
from ironic_ownership.engine.changes.release import Releaser
from ironic_ownership.engine.changes.verification import (
    Difference,
    Verification,
)
from ironic_ownership.engine.gates import Stopping, batches

LOG = log.getLogger(__name__)

REFRESHES = 3
"""Refresh intervals in which the new owner has to refresh: one that runs when
the nodes move, the one after it, and the time until it is on record."""

POLL = 1.0
"""Seconds between two reads of the new owner's conditions."""

HOLD = 86400.0
"""Seconds for which nodes that go back are held from every service: if that
is interrupted, no policy decides about an instance before an operator does."""

_MOVED = 'trial failed: moved: '
_NEEDED = (Loop.START, Loop.HEARTBEAT, Loop.EPOCH, Loop.REFRESH)
"""The loops that have to work before a service may act on a node."""


def run(
    operation: Releaser,
    proposals: Sequence[Proposal],
    verification: Verification,
    move: Callable[[Sequence[Proposal]], Sequence[Proposal]],
    stopping: Stopping,
) -> tuple[list[Proposal], bool]:
    """Move the nodes of the trials, and verify them; or take all back.

    :param proposals: those of one operation, which are on record: they pass or
        fail together.
    :param move: carries proposals out.
    :returns: the results, and whether the other nodes may follow.
    :raises UnfinishedMoveError: if something can't be read or written; what
        was begun can be resumed.
    :raises DecidedTrialError: if another process had a result first.
    """
    results = list(proposals)
    failing = results[0]
    try:
        if not any(one.goes_back for one in results):
            done = move([one.of_trial for one in results])
            nodes = {n.node.uuid: n.node for one in done for n in one.nodes}
            results = [one.with_results(nodes) for one in results]
            if any(one.of_trial.planned for one in results):
                return results, False
            differences = _verify(operation, results, verification, stopping)
            if differences is None:
                return results, False
            if not any(differences):
                return [_passed(operation, one) for one in results], True
            for result, found in zip(results, differences, strict=True):
                _fail(operation, result, found)
        for number, failing in enumerate(results):
            results[number] = _take_back(operation, failing)
        return results, False
    except (UnfinishedMoveError, LostMoveError, DecidedTrialError):
        raise
    except exceptions.OwnershipError as exc:
        error = UnfinishedMoveError(failing.order.request_id, exc)
        if len(results) > 1:
            error.hint += (
                '; "ironic-ownership move list --unfinished" shows the others'
            )
        raise error from exc


def _passed(operation: Releaser, result: Proposal) -> Proposal:
    request_id = result.order.request_id
    # Other moves of the same operation may have nodes to try.
    if not result.trial:
        return result
    if not operation.moves.pass_trial(request_id):
        raise _decided(operation, request_id)
    LOG.info('%s: the trial has passed', request_id)
    return result.with_results(
        {
            node.uuid: dataclasses.replace(node, trial=Trial.PASSED)
            for node in result.trial
        }
    )


def _verify(
    operation: Releaser,
    results: Sequence[Proposal],
    verification: Verification,
    stopping: Stopping,
) -> list[list[Difference]] | None:
    """Return the checks that failed, by move; ``None`` if it was stopped."""
    waiting = [_wait(operation, one, stopping) for one in results]
    if stopping():
        return None
    # Afterwards: its new owner may have changed something.
    tried = [one.of_trial for one in results]
    compared = verification.differences(tried)
    return [
        [*acts, *_against(operation, one), *found]
        for acts, one, found in zip(waiting, results, compared, strict=True)
    ]


def _against(operation: Releaser, result: Proposal) -> list[Difference]:
    """Return the nodes that did not move, or not in the cell."""
    stored = operation.moves.nodes(
        result.order.request_id, state=NodeState.REFUSED
    )
    uuids = [node.uuid for node in result.of_trial.moved]
    cell = operation.moves.against_owner(result.order.destination, uuids)
    return [
        *(
            Difference('moved', node.uuid, node.detail or 'it was refused')
            for node in stored
            if node.trial is Trial.FIRST
        ),
        *(Difference('cell', *one) for one in sorted(cell.items())),
    ]


def _wait(
    operation: Releaser, result: Proposal, stopping: Stopping
) -> list[Difference]:
    """Wait until the new owner has refreshed with the nodes of the trial."""
    uuids = [node.uuid for node in result.of_trial.moved]
    records = operation.ports.records.compute_nodes_by_uuid(uuids)
    if not records:
        return []
    since = max(record.updated_at or 0.0 for record in records)
    host, waited = result.order.destination, 0.0
    reports = _Reports(since)
    while True:
        missing, longest = _missing(operation, host, reports, waited)
        if missing is None:
            return []
        if waited >= longest or stopping():
            return [Difference('owner_acts', None, missing)]
        operation.pause(POLL)
        waited += POLL


@dataclasses.dataclass
class _Reports:
    """The reports of a service, from when nodes have moved to it.

    Meanwhile the database's clock may be set: then the times on record do not
    tell what came first. So only those of the first report are compared with
    the time of the move. A later one was written after an earlier poll, and
    tells how long before itself the refresh began.

    :param since: when the nodes moved, by the database's clock.
    :ivar has_refreshed: whether the service has refreshed after that.
    """

    since: float
    has_refreshed: bool = False
    _polled_at: float | None = None
    _last: float | None = None

    def take(self, report: ConditionReport | None, waited: float) -> None:
        """Take what was just read.

        :param waited: seconds since the first report was read, at least.
        """
        before, self._polled_at = self._polled_at, waited
        if report is None or report.reported_at == self._last:
            return
        self._last = report.reported_at
        self.has_refreshed |= any(
            # One from the future was written before the clock was set back.
            at > self.since and report.age >= 0
            if before is None
            else report.reported_at - at < before
            for one in report.conditions
            if one.loop == Loop.REFRESH and (at := one.began_at) is not None
        )


def _missing(
    operation: Releaser, host: str, reports: _Reports, waited: float
) -> tuple[str | None, float]:
    """Return why a service does not act on nodes that have moved to it.

    :param waited: seconds of the pauses since they moved.
    :returns: the reason, and for how many seconds to wait for its end.
    """
    records = operation.ports.records
    report = records.condition_reports().get(host)
    reports.take(report, waited)
    row = next((one for one in records.services() if one.host == host), None)
    if row is None or row.fenced or row.forced_down:
        return f'{host} has no right to write', ALLOWANCE
    if report is None or report.is_outdated:
        return f'{host} does not report the conditions of its loops', ALLOWANCE
    longest = REFRESHES * report.interval + ALLOWANCE
    failing = [one for one in report.failing if one.loop in _NEEDED]
    if failing:
        text = '; '.join(f'{one.loop}: {one.error}' for one in failing)
        return f'{host} does not work: {text}', longest
    if reports.has_refreshed:
        return None, 0.0
    return (
        f'{host} has not refreshed since the nodes moved, in {longest:g} s',
        longest,
    )


def _fail(
    operation: Releaser, result: Proposal, found: Sequence[Difference]
) -> None:
    """Record that the nodes go back, with the cause of each."""
    request_id, causes = result.order.request_id, {}
    for one in found:
        LOG.warning('%s: trial failed: %s: %s', request_id, one.check, one)
    for node in result.of_trial.moved:
        own = [
            f'{one.check}: {one.detail}'
            for one in found
            if one.uuid in (None, node.uuid)
        ]
        causes[node.uuid] = '; '.join(own) or 'other nodes of the trial failed'
    details = {u: f'trial failed: {text}' for u, text in causes.items()}
    if not operation.moves.fail_trial(request_id, details):
        raise _decided(operation, request_id)


def _decided(operation: Releaser, request_id: str) -> DecidedTrialError:
    parts = {node.trial for node in operation.moves.nodes(request_id)}
    return DecidedTrialError(
        request_id, 'failed' if Trial.BACK in parts else 'passed'
    )


def _take_back(operation: Releaser, result: Proposal) -> Proposal:
    """Refuse the nodes that did not move, and take the others back."""
    request_id = result.order.request_id
    planned = operation.moves.nodes(request_id, state=NodeState.PLANNED)
    for some in batches([n for n in planned if n.trial != 'back']):
        operation.moves.refuse(
            request_id,
            {n.uuid: 'trial failed: it was not moved' for n in some},
        )
    for some in batches([n for n in planned if n.trial == 'back']):
        _give_back(operation, result, some)
    stored = {node.uuid: node for node in operation.moves.nodes(request_id)}
    result = result.with_results(stored)
    findings = [
        f'node {node.uuid}: {_MOVED if node.trial is Trial.FIRST else ""}'
        f'{node.detail}'
        for node in result.trial
        # Its destination owned it before its batch.
        if node.state is not NodeState.UNCHANGED
    ]
    return dataclasses.replace(result, findings=findings)


def _give_back(
    operation: Releaser, result: Proposal, nodes: Sequence[NodeMove]
) -> None:
    order, moves = result.order, operation.moves
    records = operation.ports.records
    registered = {row.host for row in records.services()}
    rows = records.compute_nodes_by_uuid([node.uuid for node in nodes])
    owned = {row.uuid for row in rows if row.host == order.destination}
    # Before their release: an instance needs an owner at any time. One that
    # an interrupted command has released can't stay with the new owner.
    kept = operation.occupied(
        {n.uuid: n.instance_uuid for n in nodes if n.uuid in owned}
    ) | {
        node.uuid: f'{node.source} is not registered'
        for node in nodes
        if node.source not in (None, *registered)
    }
    kept |= operation.set_scope(
        order, {n.uuid: n.source for n in nodes if n.uuid not in kept}
    )
    leaving = [
        dataclasses.replace(node, source=order.destination)
        for node in nodes
        if node.uuid not in kept
    ]
    refused = operation.release(
        leaving,
        HandOver(
            order.request_id,
            order.actor,
            HOLD,
            'the trial of its move failed',
            deployed=True,
        ),
    )
    # Another process may have given them back, or their source claimed them.
    owners = records.compute_nodes_by_uuid(refused)
    operation.set_scope(
        order, {n.uuid: n.host or order.destination for n in owners}
    )
    sources = {node.uuid: node.source for node in nodes}
    back = {n.uuid for n in owners if n.host == sources[n.uuid]}
    kept |= {uuid: why for uuid, why in refused.items() if uuid not in back}
    moves.refuse(
        order.request_id,
        {
            n.uuid: f'{n.detail}; it did not go back: {kept[n.uuid]}'
            for n in nodes
            if n.uuid in kept
        },
        NodeState.MOVED,
        is_back=True,
    )
    leaving_now = [node for node in nodes if node.uuid not in kept]
    # Unowned again, as it was.
    moves.refuse(
        order.request_id,
        {n.uuid: n.detail or '' for n in leaving_now if n.source is None},
        is_back=True,
    )
    for source in sorted({n.source for n in leaving_now if n.source}):
        of_source = [n for n in leaving_now if n.source == source]
        moves.carry_out(order.request_id, of_source, back_to=source)
        LOG.info(
            '%s: %s nodes are back at %s',
            order.request_id,
            len(of_source),
            source,
        )
