"""How what an operator did to a service is shown."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Protocol

from ironic_ownership.contracts import model
from ironic_ownership.observe import columns


@dataclasses.dataclass(frozen=True)
class Change:
    """A service before and after ``service set``.

    :param after: as it is now, or would be.
    """

    before: model.Service
    after: model.Service
    dry_run: bool
    request_id: str

    @property
    def changed(self) -> list[str]:
        """The names of the settings that are not as before."""
        names = ('disabled', 'disabled_reason', 'forced_down')
        return [
            name
            for name in names
            if getattr(self.before, name) != getattr(self.after, name)
        ]


_Change = columns.Column[Change]

CHANGE = (
    _Change('host', lambda c: c.after.host),
    _Change('status', lambda c: 'disabled' if c.after.disabled else 'enabled'),
    _Change('disabled_reason', lambda c: c.after.disabled_reason),
    _Change('forced_down', lambda c: c.after.forced_down),
    _Change('fenced', lambda c: c.after.fenced),
    _Change('epoch', lambda c: c.after.epoch),
    _Change('changed', lambda c: c.changed),
    _Change('dry_run', lambda c: c.dry_run),
    _Change('request_id', lambda c: c.request_id),
)
"""The columns of a changed service."""


class Verdict(Protocol):
    """What is shown of a gate; the engine judges it."""

    @property
    def gate(self) -> str:
        """Its stable code."""

    @property
    def passed(self) -> bool:
        """Whether it lets the deletion through."""

    @property
    def left(self) -> int:
        """How many things stand in the way."""

    @property
    def examples(self) -> Sequence[str]:
        """The first of them."""


_Verdict = columns.Column[Verdict]

GATES = (
    _Verdict('gate', lambda v: str(v.gate)),
    _Verdict('passed', lambda v: v.passed),
    _Verdict('left', lambda v: v.left),
    _Verdict('examples', lambda v: list(v.examples)),
)
"""The columns of a deletion's gates."""
