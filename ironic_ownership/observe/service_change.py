"""Columns of the operations on services: set, delete, fail over."""

from __future__ import annotations

from ironic_ownership.engine.gates import GateResult
from ironic_ownership.engine.operations.change_services import (
    Change,
    Failover,
)
from ironic_ownership.observe import columns

EXAMPLES = 5
"""The number of remaining things that a refusal names."""

_Change = columns.Column[Change]
_Gate = columns.Column[GateResult]
_Failover = columns.Column[Failover]

CHANGE = (
    _Change('host', lambda c: c.after.host),
    _Change('status', lambda c: 'disabled' if c.after.disabled else 'enabled'),
    _Change('disabled_reason', lambda c: c.after.disabled_reason),
    _Change('forced_down', lambda c: c.after.forced_down),
    _Change('fenced', lambda c: c.after.fenced),
    _Change('epoch', lambda c: c.after.epoch),
    _Change('changed', lambda c: c.changed),
)

CHANGE_KEYS = (*columns.keys(CHANGE), 'dry_run', 'request_id')

GATES = (
    _Gate('gate', lambda g: g.gate),
    _Gate('passed', lambda g: g.passed),
    _Gate('left', lambda g: len(g.remaining)),
    _Gate('examples', lambda g: list(g.remaining[:EXAMPLES])),
    _Gate('hint', lambda g: g.hint or None),
)

FAILOVER = (
    _Failover('host', lambda f: f.after.host),
    _Failover('from_incarnation', lambda f: f.before.incarnation),
    _Failover('to_incarnation', lambda f: f.target),
    _Failover('done', lambda f: f.done),
    _Failover('epoch', lambda f: f.after.epoch),
)

FAILOVER_KEYS = (*columns.keys(FAILOVER), 'dry_run', 'request_id')

FAILOVER_GATES = (
    _Gate('gate', lambda g: g.gate),
    _Gate('passed', lambda g: g.passed),
    _Gate('detail', lambda g: g.detail),
    _Gate('hint', lambda g: g.hint or None),
)
