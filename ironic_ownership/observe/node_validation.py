"""How a node that is to be enrolled is shown: what is wrong with it."""

from __future__ import annotations

from typing import Protocol

from ironic_ownership.observe import columns


class Fault(Protocol):
    """One thing that is wrong with one node; the engine finds it."""

    @property
    def place(self) -> str: ...  # noqa: D102 - in the file
    @property
    def node(self) -> str | None: ...  # noqa: D102 - name or uuid
    @property
    def severity(self) -> str: ...  # noqa: D102 - a code
    @property
    def code(self) -> str: ...  # noqa: D102 - of the fault
    @property
    def what(self) -> str: ...  # noqa: D102 - in words
    @property
    def hint(self) -> str: ...  # noqa: D102 - what helps


_Column = columns.Column[Fault]

COLUMNS = (
    _Column('place', lambda f: f.place),
    _Column('node', lambda f: f.node),
    _Column('severity', lambda f: str(f.severity)),
    _Column('fault', lambda f: f.code),
    _Column('what', lambda f: f.what),
    _Column('hint', lambda f: f.hint or None),
)
"""All of a fault."""
