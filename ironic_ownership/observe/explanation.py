"""How an explanation is shown: one cell for each link of the chain."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from ironic_ownership.contracts import model, reasons
from ironic_ownership.observe import columns, compute_node

_WIDTH = 76
_NODE = (
    'driver',
    'resource_class',
    'provision_state',
    'target_provision_state',
    'power_state',
    'maintenance',
    'retired',
    'reservation',
)
_Row = dict[str, columns.Cell]


class Verdict(Protocol):
    """What one policy says about the node."""

    @property
    def policy(self) -> model.PolicySettings: ...  # noqa: D102
    @property
    def admits(self) -> bool | None: ...  # noqa: D102
    @property
    def says(self) -> str: ...  # noqa: D102


class Candidate(Protocol):
    """One service, and why it is considered or is not."""

    @property
    def host(self) -> str: ...  # noqa: D102
    @property
    def alive(self) -> bool: ...  # noqa: D102
    @property
    def disabled(self) -> bool: ...  # noqa: D102
    @property
    def forced_down(self) -> bool: ...  # noqa: D102
    @property
    def readable(self) -> bool: ...  # noqa: D102
    @property
    def verdicts(self) -> Sequence[Verdict]: ...  # noqa: D102
    @property
    def admits(self) -> bool | None: ...  # noqa: D102
    @property
    def considered(self) -> bool: ...  # noqa: D102
    @property
    def why(self) -> str: ...  # noqa: D102


class Explanation(Protocol):
    """What is shown of an explanation; the engine makes it."""

    @property
    def finding(self) -> compute_node.Finding: ...  # noqa: D102
    @property
    def candidates(self) -> Sequence[Candidate]: ...  # noqa: D102
    @property
    def wish(self) -> model.Decision | None: ...  # noqa: D102
    @property
    def rule(self) -> str: ...  # noqa: D102
    @property
    def assigner(self) -> str | None: ...  # noqa: D102
    @property
    def peers(self) -> Sequence[str]: ...  # noqa: D102
    @property
    def live_peers(self) -> Sequence[str]: ...  # noqa: D102
    @property
    def owner(self) -> model.Service | None: ...  # noqa: D102
    @property
    def advice(self) -> Sequence[str]: ...  # noqa: D102


def _decision(said: Explanation) -> model.Decision:
    return said.finding.decision or model.Decision(
        None, reasons.Reason.NODE_GONE
    )


def _inputs(said: Explanation) -> _Row:
    node, record = said.finding.node, said.finding.record
    shard, group = compute_node.place(said.finding)
    return {
        'shard': shard,
        'conductor_group': group,
        'instance_uuid': node.instance_uuid if node else None,
        'recorded_instance_uuid': record.instance_uuid if record else None,
    }


def _member(candidate: Candidate) -> _Row:
    return {
        'host': candidate.host,
        'considered': candidate.considered,
        'why': candidate.why,
        'alive': candidate.alive,
        'disabled': candidate.disabled,
        'forced_down': candidate.forced_down,
        'readable': candidate.readable,
        'admits': candidate.admits,
        'policies': [
            {
                'policy': verdict.policy.name,
                'options': {
                    name: list(value) if isinstance(value, tuple) else value
                    for name, value in verdict.policy.options
                },
                'admits': verdict.admits,
                'says': verdict.says,
            }
            for verdict in candidate.verdicts
        ],
    }


def _record(said: Explanation) -> _Row | None:
    record, owner = said.finding.record, said.owner
    if record is None:
        return None
    return {
        'service': record.host,
        'service_alive': said.finding.owner_alive,
        'service_epoch': owner.epoch if owner else None,
        'instance_uuid': record.instance_uuid,
        'shard': record.shard,
        'conductor_group': record.conductor_group,
        'reason': record.reason.value,
        'unavailable': record.unavailable,
        'updated_at': columns.moment(record.updated_at),
    }


def _ironic(said: Explanation) -> _Row | None:
    node = said.finding.node
    if node is None:
        return None
    return {
        'instance_uuid': node.instance_uuid,
        'shard': node.shard,
        'conductor_group': node.conductor_group,
        **{name: getattr(node, name) for name in _NODE},
    }


def _wish(said: Explanation) -> _Row | None:
    if said.wish is None:
        return None
    return {'service': said.wish.owner, 'reason': said.wish.reason.value}


def _contest(said: Explanation) -> str | None:
    contest = _decision(said).contest
    return contest.value if contest else None


_Column = columns.Column[Explanation]

COLUMNS = (
    _Column('uuid', lambda e: e.finding.uuid),
    _Column('name', lambda e: compute_node.name(e.finding)),
    _Column('state', lambda e: str(e.finding.state)),
    _Column('inputs', _inputs),
    _Column('members', lambda e: [_member(c) for c in e.candidates]),
    _Column('assigner', lambda e: e.assigner),
    _Column('peers', lambda e: list(e.peers)),
    _Column('live_peers', lambda e: list(e.live_peers)),
    _Column('policies_want', _wish),
    _Column('decided_owner', lambda e: _decision(e).owner),
    _Column('reason', lambda e: compute_node.reason(e.finding).value),
    _Column('rule', lambda e: e.rule),
    _Column('contest', _contest),
    _Column('contenders', lambda e: list(_decision(e).contenders)),
    _Column('filtered', lambda e: _decision(e).filtered),
    _Column('unavailable', lambda e: compute_node.unavailable(e.finding)),
    _Column('record', _record),
    _Column('ironic', _ironic),
    _Column('advice', lambda e: list(e.advice)),
)
"""The chain, from the inputs to the advice."""


def readable(cell: columns.Cell) -> str | int | float:
    """Return a cell as a person reads it: one line for each thing."""
    if isinstance(cell, Mapping):
        # The empty conductor group is a value: it has to be seen.
        return '\n'.join(
            f'{k}: {repr(v) if v == "" else columns.readable(v)}'
            for k, v in cell.items()
        )
    if isinstance(cell, list) and cell:
        if isinstance(cell[0], Mapping):
            return '\n'.join(line for row in cell for line in _lines(row))
        if any(' ' in text for text in cell):
            return '\n'.join(_wrap(text, '* ') for text in cell)
    if isinstance(cell, str) and len(cell) > _WIDTH:
        return _wrap(cell, '')
    return columns.readable(cell)


def _lines(member: Mapping[str, Any]) -> Sequence[str]:
    """Return a member in words: why, then what each policy says."""
    return [
        _wrap(f'{member["host"]}: {member["why"]}', ''),
        *(
            _wrap(f'{_policy(verdict)}: {verdict["says"]}', '  - ')
            for verdict in member['policies']
        ),
    ]


def _policy(verdict: Mapping[str, Any]) -> str:
    options = columns.text(verdict['options'])
    name = str(verdict['policy'])
    return f'{name} ({options})' if options else name


def _wrap(text: str, bullet: str) -> str:
    return textwrap.fill(
        text,
        _WIDTH,
        initial_indent=bullet,
        subsequent_indent=' ' * len(bullet),
        break_long_words=False,
        break_on_hyphens=False,
    )
