"""Resources of Ironic's API: which requests change a node, and which node.

As Ironic's own routing sees them: it also accepts a path without ``v1``, empty
parts of a path, and another method in the query. Pure.
"""

from __future__ import annotations

import re
import urllib.parse
import uuid

from ironic_ownership.contracts.request_header import READS

_OF_NODES = frozenset(
    ('nodes', 'ports', 'portgroups', 'volume', 'allocations')
)
"""Collections whose resources are nodes, or belong to one."""

_SUFFIX = '.json'
# uuid.UUID also reads underscores, prefixes and digits of other scripts, which
# names may contain.
_DIGITS = re.compile('[0-9A-Fa-f]{32}')


Idents = frozenset[str]
"""Uuids or names of nodes."""


def as_recorded(idents: Idents) -> tuple[Idents, Idents]:
    """Return uuids in the form of the records, and names."""
    uuids = {ident: _uuid(ident) for ident in idents}
    names = (ident for ident, uuid in uuids.items() if not uuid)
    return frozenset(filter(None, uuids.values())), frozenset(names)


def change(method: str, path: str, query: str = '') -> Idents | None:
    """Return how a request names the nodes that it may change.

    ``None`` for a request that changes no node.

    A port, a volume connector or target, and an allocation are named by a
    uuid of their own: then no node is known from the request.

    :param path: ``PATH_INFO``, without encoded characters.
    """
    if method in READS and '_method' not in urllib.parse.unquote(query):
        return None  # nearly every request
    asked = urllib.parse.parse_qs(query)
    methods = {method, *(m.upper() for m in asked.get('_method', ()))}
    if methods <= READS:
        return None
    collection, *rest = _parts(path) or ['']
    if collection == 'chassis' and 'nodes' in rest:
        # Ironic routes it to a node, which any of the parts may name. No
        # client needs such a path, and no service owns a node "nodes".
        return frozenset(rest)
    if not rest:
        collection = collection.removesuffix(_SUFFIX)
    if collection not in _OF_NODES:
        return None
    idents = set(asked.get('node_ident', ()))
    if collection == 'nodes' and rest:
        ident = rest[0]
        idents.add(ident)
        if ident.endswith(_SUFFIX) and len(rest) == 1:
            # By its version, Ironic takes the suffix for a part of the name
            # or not. Both have to belong to the service, so a node with such
            # a name can only be changed by its uuid.
            idents.add(ident.removesuffix(_SUFFIX))
    return frozenset(idents)


def _parts(path: str) -> list[str]:
    parts = [part for part in path.split('/') if part]
    return parts[1:] if parts[:1] == ['v1'] else parts


def _uuid(ident: str) -> str:
    """Return a uuid in the form of the records; empty if it is a name."""
    digits = ident.replace('-', '')
    return str(uuid.UUID(digits)) if _DIGITS.fullmatch(digits) else ''
