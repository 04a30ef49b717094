"""A member as a node of ZooKeeper: its name and its content."""

from __future__ import annotations

import urllib.parse
from typing import Any

from ironic_ownership import contracts

UNREADABLE = contracts.MemberSettings(contract_version=0)
"""Settings of a member that this release cannot read: it is alive, and its
decisions are unknown."""


def name(host: str, incarnation: str) -> str:
    """Return the name of a member's node."""
    return f'{urllib.parse.quote(host, safe="")}@{incarnation}'


def member(of: str, data: bytes, stat: Any) -> contracts.Member:
    """Return the member of which this is the node.

    :param stat: of the node, as kazoo returns it.
    """
    host, _, incarnation = of.rpartition('@')
    try:
        settings = contracts.MemberSettings.from_json(data.decode())
        hash(settings)
    except (ValueError, TypeError):
        settings = UNREADABLE
    return contracts.Member(
        host=urllib.parse.unquote(host),
        incarnation=incarnation,
        joined_at=stat.created,
        settings=settings,
    )
