"""How it is shown that a node may be acted on."""

from __future__ import annotations

from typing import Protocol

from ironic_ownership.observe import columns


class Allowed(Protocol):
    """A node that its owner may act on; the engine finds that out."""

    @property
    def uuid(self) -> str: ...  # noqa: D102 - the node's
    @property
    def name(self) -> str | None: ...  # noqa: D102 - the node's
    @property
    def host(self) -> str: ...  # noqa: D102 - the owner
    @property
    def driver(self) -> str: ...  # noqa: D102 - the node's
    @property
    def conductor_group(self) -> str: ...  # noqa: D102 - the node's


_Column = columns.Column[Allowed]

COLUMNS = (
    _Column('uuid', lambda a: a.uuid),
    _Column('name', lambda a: a.name),
    _Column('service', lambda a: a.host),
    _Column('driver', lambda a: a.driver),
    _Column('conductor_group', lambda a: a.conductor_group),
)
"""All that is said of it."""
