"""Join Ironic's nodes with the records, the way operators ask about them.

Pure: what the commands and pages show of compute nodes is made here, so that
all of them show the same.
"""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Collection, Iterable, Mapping

from ironic_ownership.contracts import model
from ironic_ownership.contracts.availability import Unavailable, Verdict
from ironic_ownership.engine.availability import evaluation
from ironic_ownership.engine.decision import decide
from ironic_ownership.engine.decision.peer_groups import PeerGroups


class State(enum.StrEnum):
    """How one compute node stands, the most alarming first."""

    ORPHAN = 'orphan'
    """It has a record, and Ironic does not have it."""

    CONTESTED = 'contested'
    """Live services disagree about it."""

    UNOWNED = 'unowned'
    """Ironic has it, and no service owns it."""

    FILTERED = 'filtered'
    """Its owner keeps it although the owner's policies admit it no more."""

    OWNED = 'owned'
    """A service owns it, and its policies agree."""


class Availability(enum.StrEnum):
    """Whether something can be scheduled to a compute node."""

    AVAILABLE = 'available'
    """It can be."""

    UNAVAILABLE = 'unavailable'
    """It cannot be, for whatever reason."""

    OUT_OF_SERVICE = 'out-of-service'
    """It cannot be, because no live conductor can work on it."""


@dataclasses.dataclass(frozen=True)
class Finding:
    """One compute node: what Ironic has, what is on record, what is decided.

    :param owner_alive: whether the owner on record is alive; ``None`` while
        nobody owns the node.
    :param verdict: whether something can be scheduled to it; ``None`` for a
        node that Ironic does not have.
    """

    uuid: str
    state: State
    node: model.Node | None
    record: model.ComputeNode | None
    decision: model.Decision | None
    owner_alive: bool | None
    verdict: Verdict | None = None


def is_in(finding: Finding, states: Collection[str]) -> bool:
    """Tell whether a compute node is in one of some states.

    :param states: of :class:`State` and :class:`Availability`.
    """
    found = {str(finding.state)}
    if finding.verdict is not None:
        code = finding.verdict.code
        if code is None:
            found.add(Availability.AVAILABLE)
        else:
            found.add(Availability.UNAVAILABLE)
        if code is Unavailable.OUT_OF_SERVICE:
            found.add(Availability.OUT_OF_SERVICE)
    return not found.isdisjoint(states)


def survey(
    nodes: Iterable[model.Node],
    records: Iterable[model.ComputeNode],
    peer_groups: PeerGroups,
    fleet: evaluation.Fleet | None = None,
) -> list[Finding]:
    """Judge every node and every record.

    :param nodes: the complete list of the nodes in question.
    :param records: the complete list of the records in question; one whose
        node is not among ``nodes`` counts as an orphan.
    :param fleet: who works on nodes; ``None`` if that is not known.
    :returns: findings in the order of names, then uuids.
    """
    by_uuid = {record.uuid: record for record in records}
    present = {node.uuid: node for node in nodes}
    decisions = decide.decide(present.values(), by_uuid, peer_groups)
    findings = [
        _finding(
            uuid,
            present.get(uuid),
            by_uuid.get(uuid),
            decisions,
            peer_groups,
            fleet,
        )
        for uuid in present.keys() | by_uuid.keys()
    ]
    return sorted(findings, key=lambda f: (_name(f), f.uuid))


def _finding(
    uuid: str,
    node: model.Node | None,
    record: model.ComputeNode | None,
    decisions: Mapping[str, model.Decision],
    peer_groups: PeerGroups,
    fleet: evaluation.Fleet | None,
) -> Finding:
    decision = decisions.get(uuid)
    owner = record.host if record else None
    return Finding(
        uuid,
        _state(node, owner, decision),
        node,
        record,
        decision,
        None if owner is None else owner in peer_groups.alive,
        evaluation.seen(node, record, fleet) if node else None,
    )


def _state(
    node: model.Node | None,
    owner: str | None,
    decision: model.Decision | None,
) -> State:
    if node is None or decision is None:
        return State.ORPHAN
    if decision.contest is not None:
        return State.CONTESTED
    if owner is None:
        return State.UNOWNED
    return State.FILTERED if decision.filtered else State.OWNED


def _name(finding: Finding) -> str:
    named = finding.node or finding.record
    return (named.name if named else None) or ''
