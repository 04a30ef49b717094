"""Resources of Ironic's API: which requests change a node, and which node.

As Ironic's own routing sees them: it also accepts a path without ``v1``, empty
parts of a path, and another method in the query. Pure.
"""

from __future__ import annotations

import dataclasses
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


@dataclasses.dataclass(frozen=True)
class Change:
    """A request that may change nodes.

    :param idents: uuids or names by which the request itself names nodes.
    """

    idents: frozenset[str] = frozenset()

    @property
    def uuids(self) -> frozenset[str]:
        """The uuids among the idents, as the records have them."""
        return frozenset(filter(None, map(_uuid, self.idents)))

    @property
    def names(self) -> frozenset[str]:
        """The names among the idents."""
        return frozenset(i for i in self.idents if not _uuid(i))


def change(method: str, path: str, query: str = '') -> Change | None:
    """Return what a request may change; ``None`` for all other requests.

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
        return Change(frozenset(rest))
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
            # or not. Both nodes have to belong to the service, if both exist.
            idents.add(ident.removesuffix(_SUFFIX))
    return Change(frozenset(idents))


def _parts(path: str) -> list[str]:
    parts = [part for part in path.split('/') if part]
    return parts[1:] if parts[:1] == ['v1'] else parts


def _uuid(ident: str) -> str:
    """Return a uuid in the form of the records; empty if it is a name."""
    digits = ident.replace('-', '')
    return str(uuid.UUID(digits)) if _DIGITS.fullmatch(digits) else ''
