"""What is sent and answered about moves, as schemas."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ironic_ownership.contracts import moves as port
from ironic_ownership.engine.moving import move_gates
from ironic_ownership.observe import move as columns
from ironic_ownership.web import shape

_STATES = {'type': 'string', 'enum': [s.value for s in port.NodeState]}
_MOVE_TYPES: shape.Types = {
    'request_id': shape.TEXT,
    'created_at': shape.TEXT_OR_NULL,
    'actor': shape.TEXT,
    'destination': shape.TEXT,
    'state': {'type': 'string', 'enum': [s.value for s in port.MoveState]},
    **{state.value: shape.NUMBER for state in port.NodeState},
    'reason': shape.TEXT_OR_NULL,
    'overrides': shape.TEXTS,
}
_NODE_TYPES: shape.Types = {
    'uuid': shape.TEXT,
    'name': shape.TEXT_OR_NULL,
    'source': shape.TEXT_OR_NULL,
    'destination': shape.TEXT,
    'instance_uuid': shape.TEXT_OR_NULL,
    'state': _STATES,
    'detail': shape.TEXT_OR_NULL,
    'request_id': shape.TEXT,
    'gates': {
        **shape.THINGS,
        'description': 'Each gate with its result: passed, failed or '
        'overridden.',
    },
}

_HOW = {
    'skip_invalid': {
        'type': 'boolean',
        'description': 'Move the other nodes although a gate refuses some.',
    },
    'dry_run': {
        'type': 'boolean',
        'description': 'Only say what would be done, with every gate.',
    },
}

RESUMING = {
    'type': 'object',
    'additionalProperties': False,
    'properties': _HOW,
}

BODY = {
    'type': 'object',
    'required': ['service', 'select'],
    'additionalProperties': False,
    'properties': {
        'service': {
            **shape.HOST,
            'description': 'The service that gets the nodes.',
        },
        'select': {
            'description': 'is either {"uuids": [...]}, or names a '
            '"service", a "shard" and a "conductor_group", at least one of '
            'them',
            'oneOf': [
                {
                    'type': 'object',
                    'required': ['uuids'],
                    'additionalProperties': False,
                    'properties': {
                        'uuids': {
                            'type': 'array',
                            'minItems': 1,
                            'maxItems': 10_000,
                            'uniqueItems': True,
                            'items': shape.UUID,
                        }
                    },
                },
                {
                    'type': 'object',
                    'minProperties': 1,
                    'additionalProperties': False,
                    'properties': {
                        'service': shape.HOST,
                        'shard': shape.NAME,
                        'conductor_group': shape.GROUP,
                    },
                },
            ],
        },
        'override': {
            'type': 'array',
            'uniqueItems': True,
            'description': 'Gates that may fail; needs a reason.',
            'items': {
                'type': 'string',
                'enum': [gate.value for gate in move_gates.OVERRIDABLE],
            },
        },
        'reason': {
            'type': 'string',
            'description': 'Why; stored with the move.',
            'minLength': 1,
            'maxLength': 255,
            'pattern': r'^[^\x00-\x20\x7f][^\x00-\x1f\x7f]*$',
        },
        **_HOW,
    },
    'dependentRequired': {'override': ['reason']},
}


def made(of: Sequence[Any]) -> dict[str, Any]:
    """Return the schema of what became, or would become, of nodes."""
    return {
        'type': 'object',
        'required': ['request_id', 'nodes', 'warnings'],
        'additionalProperties': False,
        'properties': {
            'request_id': shape.TEXT,
            'nodes': {
                'type': 'array',
                'items': shape.thing(of, _NODE_TYPES),
            },
            'warnings': shape.WARNINGS,
        },
    }


EITHER = {'oneOf': [made(columns.PLAN), made(columns.NODE)]}
STORED = shape.thing(columns.MOVE, _MOVE_TYPES)
DETAILS = shape.thing(columns.MOVE, _MOVE_TYPES, nodes=shape.THINGS)
