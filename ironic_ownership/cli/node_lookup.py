"""The node that a command is about: by its uuid or its name.

A uuid is asked for without any filter; a name has to be looked for.
"""

from __future__ import annotations

import uuid as uuid_
from typing import Any

from ironic_ownership.cli import base, errors
from ironic_ownership.contracts import model
from ironic_ownership.engine.queries import explanation, node_query


def uuid_of(shown: base.Shown[Any], asked: str) -> str:
    """Return the uuid of a node.

    :param asked: its uuid or its name.
    :raises NotFoundError: if no node has that name; naming what is near.
    """
    try:
        return str(uuid_.UUID(asked))
    except ValueError:
        pass
    configured = shown.wiring.scope
    scope = model.Scope() if configured.shard is None else configured
    uuid, known = node_query.find(shown.ports, asked, scope)
    if uuid is None:
        raise errors.unknown('node', asked, known)
    return uuid


def explained(shown: base.Shown[Any], uuid: str) -> explanation.Explanation:
    """Return all that can be said about a node.

    :raises NotFoundError: if nobody knows it; naming what is near.
    """
    found = node_query.explain(shown.ports, uuid, lambda: shown.sharded)
    if found is None:
        recorded = shown.ports.records.compute_nodes()
        raise errors.unknown('node', uuid, [r.uuid for r in recorded])
    return found
