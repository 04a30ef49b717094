"""Overview: counts that have to be zero, findings by weight, what moves.

Pure, except for :func:`read`. The records are counted by the database, so it
costs the same for any number of nodes. A full check reads every node of
Ironic: its result is kept by the caller, and shown with its age.
"""

from __future__ import annotations

import collections
import contextlib
import dataclasses
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from ironic_ownership.contracts import exceptions, model
from ironic_ownership.contracts.backend import MembershipBackend
from ironic_ownership.contracts.moves import Move
from ironic_ownership.contracts.reasons import Reason
from ironic_ownership.contracts.records import Companion, Pause, Tally
from ironic_ownership.engine.checks import node_problems, runner
from ironic_ownership.engine.checks.problem import (
    CHECKS,
    Problem,
    Severity,
)
from ironic_ownership.engine.decision import policy_set
from ironic_ownership.engine.decision.peer_groups import tolerant
from ironic_ownership.engine.ports import Moves, Records
from ironic_ownership.engine.queries import balance, service_status
from ironic_ownership.engine.queries.deployment import Deployment, Part
from ironic_ownership.engine.queries.service_status import ServiceStatus

SUBJECTS = 100
"""The maximum number of subjects that a finding names."""

_LEFT_OUT = frozenset((Part.IRONIC, Part.PLACEMENT))
"""Parts that are not read here: a full check reads them."""

_DRIFTED = frozenset(
    (Reason.RECORD_KEEPS, Reason.CONTESTED_KEEPS, Reason.FILTERED_KEEPS)
)
"""Rules that keep an owner to whom the policies do not give the node."""


@dataclasses.dataclass(frozen=True)
class Checked:
    """The result of a full check, small enough to keep.

    :param unowned: number of nodes of Ironic without a record that no
        service is about to claim; ``waiting`` those that one is.
    :param twice: nodes whose instance is another node's on record.
    :param drifted: nodes whose owner is not the one that the policies want.
    :param complete: whether every part answered.
    """

    findings: Sequence[Problem]
    nodes: int
    unowned: int
    waiting: int
    twice: frozenset[str]
    drifted: int
    complete: bool


@dataclasses.dataclass(frozen=True)
class Overview:
    """The deployment on one screen.

    :param owned_twice: ``None`` if neither Ironic nor a cell was read.
    :param without_live_owner: ``None`` if the membership does not answer.
    :param moves: those that are not finished.
    """

    nodes: int
    unowned: int
    owned_twice: int | None
    drifted: int
    without_live_owner: int | None
    waiting: int
    services: Sequence[ServiceStatus]
    findings: Sequence[Problem]
    moves: Sequence[Move]
    pauses: Sequence[Pause]
    complete: bool

    @property
    def state(self) -> str:
        """The result in one word: error, unknown, warning or ok."""
        severities = {one.severity for one in self.findings} - {Severity.NOTE}
        if Severity.ERROR in severities or self.unowned or self.owned_twice:
            return 'error'
        if Severity.UNKNOWN in severities or not self.complete:
            return 'unknown'
        counts = self.drifted, self.without_live_owner, self.waiting
        return 'warning' if severities or any(counts) else 'ok'


def checked(seen: Deployment, problems: Sequence[Problem]) -> Checked:
    """Sum up a whole deployment.

    :param problems: of :func:`runner.check`.
    """
    states: collections.Counter[str] = collections.Counter()
    # A policy that fails is among the problems.
    with contextlib.suppress(exceptions.PluginFaultError):
        for status in seen.evaluated if not seen.unread else ():
            decision = status.decision
            row = seen.services.get(status.owner or '')
            if status.owner is not None:
                # Stock Nova keeps its nodes; no policy of ours counts there.
                states['drifted'] += not (row and row.is_stock) and (
                    decision.owner != status.owner
                    or decision.filtered
                    or decision.reason in _DRIFTED
                )
            elif status.uuid not in seen.records:
                is_due = decision.owner is not None
                # The assigner leaves others without an owner on purpose.
                if is_due or decision.reason is not Reason.UNASSIGNED:
                    states['waiting' if is_due else 'unowned'] += 1
    return Checked(
        [*map(_shortened, problems)],
        len(seen.nodes),
        states['unowned'],
        states['waiting'],
        _served_twice(seen),
        states['drifted'],
        not seen.unread,
    )


def _shortened(one: Problem) -> Problem:
    """Return a problem with its first subjects, and the number of all."""
    return dataclasses.replace(
        one, subjects=one.subjects[:SUBJECTS], counted=one.count
    )


def _served_twice(seen: Deployment) -> frozenset[str]:
    """Return nodes with an instance that another service has on record."""
    # An instance may be on record for several nodes.
    recorded: dict[str | None, set[str | None]] = collections.defaultdict(set)
    for record in seen.records.values():
        if record.instance_uuid is not None:
            recorded[record.instance_uuid].add(record.host)
    found = set()
    for uuid, node in seen.nodes.items():
        hosts = recorded.get(node.instance_uuid, set())
        own = seen.records.get(uuid)
        if hosts if own is None else hosts - {own.host}:
            found.add(uuid)
    return frozenset(found)


def read(
    records: Records,
    backend: MembershipBackend,
    moves: Moves,
    interpret: policy_set.Interpreter,
    companion: Companion | None = None,
    last: Checked | None = None,
) -> tuple[Overview, Sequence[str]]:
    """Read the overview from records, membership and cell; not from Ironic.

    :param last: the result of the last full check, if there was one.
    :returns: also a sentence for each thing that could not be read.
    :raises RecordsError: if the records do not answer.
    """
    unread: dict[Part, exceptions.OwnershipError] = {}

    def attempt(part: Part, work: Callable[[], Any]) -> Any:
        try:
            return work()
        except exceptions.OwnershipError as exc:
            unread[part] = exc
            return None

    view = attempt(Part.MEMBERSHIP, backend.view)
    listing = service_status.of(records, view)
    # A member that has not registered yet has none.
    rows = {
        one.row.host: one.row
        for one in listing
        if one.row != model.Service(one.row.host)
    }
    policy_set.prepare(rows.values(), interpret)
    cell = companion and companion.read(attempt, lambda: None)
    seen = Deployment(
        interpret,
        rows,
        view.serving(rows.values()) if view else model.View(),
        unread=unread,
        reports=records.condition_reports(),
        pauses=records.pauses(),
        companion=cell,
        on_fault=tolerant(),
    )
    warnings = [
        f'{part} is unknown: {error}' for part, error in unread.items()
    ]
    tallies = records.tallies()
    lives = Part.MEMBERSHIP not in seen.unread
    left = [*_left(seen, tallies)] if lives else []
    gone = [f.count for f in left if not f.code.startswith('owner_disabled')]
    served: frozenset[str] = getattr(cell, 'twice', frozenset())
    drift: frozenset[str] = getattr(cell, 'drifted', frozenset())
    unowned = [one for one in tallies if one.host is None]
    waiting = [one for one in unowned if _waits(one, seen)]
    kept = _nodes(
        t for t in tallies if t.host is not None and t.reason in _DRIFTED
    )
    overview = Overview(
        nodes=_nodes(tallies) + (last.unowned + last.waiting if last else 0),
        unowned=(last.unowned if last else 0)
        + _nodes(t for t in unowned if t.reason != Reason.RELEASED),
        owned_twice=len(served | (last.twice if last else frozenset()))
        if (last and last.complete) or (cell and Part.CELL not in seen.unread)
        else None,
        drifted=max(kept, last.drifted if last else 0) + len(drift),
        without_live_owner=sum(gone) if lives else None,
        waiting=(last.waiting if last else 0) + _nodes(waiting),
        services=_with_load(listing, tallies, seen),
        findings=_findings(seen, left, last),
        moves=moves.moves(unfinished=True, limit=None),
        pauses=seen.pauses,
        complete=(last is None or last.complete) and not unread,
    )
    return overview, warnings


def _waits(one: Tally, seen: Deployment) -> bool:
    """Tell whether another service is to claim nodes without an owner.

    Not after a reservation, nor under a policy that leaves them free.
    """
    policies = seen.peer_groups.policies.get(one.released_by or '')
    return (
        one.reason == Reason.RELEASED
        and one.released_by is not None
        and not (policies and policies.releases_free)
    )


def _nodes(tallies: Iterable[Tally]) -> int:
    return sum(one.nodes for one in tallies)


def _with_load(
    services: Sequence[ServiceStatus],
    tallies: Sequence[Tally],
    seen: Deployment,
) -> Sequence[ServiceStatus]:
    """Add the shares, and the unavailable nodes by the records."""
    owned: collections.Counter[str | None] = collections.Counter()
    unavailable: collections.Counter[str | None] = collections.Counter()
    for one in tallies:
        owned[one.host] += one.nodes
        unavailable[one.host] += one.unavailable
    known = None if Part.MEMBERSHIP in seen.unread else seen.peer_groups
    spreads = balance.spreads(known, owned)
    return balance.with_shares(services, spreads, unavailable)


def _left(seen: Deployment, tallies: Sequence[Tally]) -> Iterator[Problem]:
    """Yield nodes whose owner does not serve, as the database counts them."""
    counted: collections.Counter[tuple[str, str, bool]] = collections.Counter()
    for one in tallies:
        if one.host is None:
            continue
        code = node_problems.owner_code(seen, one.host)
        if code is not None:
            counted[one.host, code, False] += one.instances
            counted[one.host, code, True] += one.nodes - one.instances
    for of, number in sorted(counted.items()):
        if number:
            yield node_problems.left(*of, (), number)


def _findings(
    seen: Deployment, left: Sequence[Problem], last: Checked | None
) -> Sequence[Problem]:
    """Return what was found now, and of the last check what needs Ironic."""
    checks = [*CHECKS, *(seen.companion.checks if seen.companion else ())]
    fresh = {
        code
        for one in checks
        if not one.needs & _LEFT_OUT
        for code in one.codes
    } - {'imbalance'}  # of the list of all records
    found = map(_shortened, runner.check(seen, _LEFT_OUT))
    # A policy that ended checks has the code of a finding, and is none here.
    old = [
        f
        for f in (last.findings if last else ())
        if f.code not in fresh or f.severity is Severity.UNKNOWN
    ]
    order = [*Severity]
    return sorted(
        [*left, *found, *old],
        key=lambda f: (order.index(f.severity), -f.count),
    )
