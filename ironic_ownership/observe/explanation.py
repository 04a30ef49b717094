"""Columns of an explanation: one for each link of the chain."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from ironic_ownership.contracts import model
from ironic_ownership.engine.queries import advice
from ironic_ownership.engine.queries.explanation import Candidate, Explanation
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


def _inputs(explanation: Explanation) -> _Row:
    node, record = explanation.status.node, explanation.status.record
    shard, group = compute_node.place(explanation.status)
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
                'policy': result.policy.name,
                'options': _plain(result.policy),
                'member_values': _plain(result.values),
                'admits': result.admits,
                'says': result.detail,
            }
            for result in candidate.results
        ],
    }


def _plain(settings: model.PolicySettings) -> _Row:
    return {name: columns.plain(value) for name, value in settings.options}


def _record(explanation: Explanation) -> _Row | None:
    record, owner = explanation.status.record, explanation.owner
    if record is None:
        return None
    return {
        'service': record.host,
        'service_alive': explanation.status.owner_alive,
        'service_epoch': owner.epoch if owner else None,
        'instance_uuid': record.instance_uuid,
        'shard': record.shard,
        'conductor_group': record.conductor_group,
        'reason': record.reason.value,
        'unavailable': record.unavailable,
        'updated_at': columns.moment(record.updated_at),
    }


def _ironic(explanation: Explanation) -> _Row | None:
    node = explanation.status.node
    if node is None:
        return None
    return {
        'instance_uuid': node.instance_uuid,
        'shard': node.shard,
        'conductor_group': node.conductor_group,
        **{name: getattr(node, name) for name in _NODE},
    }


def _preferred(explanation: Explanation) -> _Row | None:
    found = explanation.preferred
    if found is None:
        return None
    return {
        'service': found.owner,
        'reason': found.reason.value,
        'note': found.note or None,
    }


def _contest(explanation: Explanation) -> str | None:
    contest = explanation.decision.contest
    return contest.value if contest else None


_Column = columns.Column[Explanation]

COLUMNS = (
    _Column('uuid', lambda e: e.status.uuid),
    _Column('name', lambda e: e.status.name),
    _Column('state', lambda e: str(e.status.state)),
    _Column('inputs', _inputs),
    _Column('members', lambda e: [_member(c) for c in e.candidates]),
    _Column('assigner', lambda e: e.assigner),
    _Column('peers', lambda e: list(e.peers)),
    _Column('live_peers', lambda e: list(e.live_peers)),
    _Column('policies_want', _preferred),
    _Column('decided_owner', lambda e: e.decision.owner),
    _Column('reason', lambda e: e.decision.reason.value),
    _Column('rule', advice.rule),
    _Column('contest', _contest),
    _Column('contenders', lambda e: list(e.decision.contenders)),
    _Column('filtered', lambda e: e.decision.filtered),
    _Column('unavailable', lambda e: compute_node.unavailable(e.status)),
    _Column('record', _record),
    _Column('ironic', _ironic),
    _Column('advice', lambda e: list(advice.advise(e))),
)


def readable(cell: columns.Cell) -> str | int | float:
    """Return a cell as text for people, one line for each thing."""
    if isinstance(cell, Mapping):
        # The empty conductor group is a value and has to be visible.
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
    return [
        _wrap(f'{member["host"]}: {member["why"]}', ''),
        *(
            _wrap(f'{_policy(result)}: {result["says"]}', '  - ')
            for result in member['policies']
        ),
    ]


def _policy(result: Mapping[str, Any]) -> str:
    # A service of another release may not know the values.
    values = columns.text(result.get('member_values', {}))
    shown = '; '.join(
        part
        for part in (
            str(columns.text(result['options'])),
            f'for itself {values}' if values else '',
        )
        if part
    )
    name = str(result['policy'])
    return f'{name} ({shown})' if shown else name


def _wrap(text: str, bullet: str) -> str:
    return textwrap.fill(
        text,
        _WIDTH,
        initial_indent=bullet,
        subsequent_indent=' ' * len(bullet),
        break_long_words=False,
        break_on_hyphens=False,
    )
