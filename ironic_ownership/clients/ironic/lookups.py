"""Ironic without lists of nodes: single nodes, counts, conductors.

A node is only gone when Ironic itself reports that.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from ironic_ownership.clients import transport
from ironic_ownership.clients.ironic import api, errors, nodes
from ironic_ownership.clients.ironic.nodes import (
    NodeReader,
    checked_uuid,
    is_uuid,
    query,
)
from ironic_ownership.contracts import bare_metal, exceptions, model

if TYPE_CHECKING:
    from keystoneauth1 import adapter as ksa_adapter

_NAME = re.compile(r'(?!\.+$)[A-Za-z0-9._~-]{1,255}')
"""Names that Ironic accepts, without the relative parts of a path."""


class Lookups:
    """One Ironic, and the fields of nodes that are read.

    :param page_size: nodes on one page, 1 to 1000.
    :param request_id: without it, each scan has one of its own.
    :param on_request: returns the fields of policies that
        the next request reads as well.
    :param on_read: receives the number of nodes that a list has so far, after
        each of its pages.
    :ivar close: closes its connections; a later request opens others.
    """

    def __init__(
        self,
        adapter: ksa_adapter.Adapter,
        *,
        page_size: int = api.PAGE_SIZE,
        request_id: str | None = None,
        on_request: Callable[[], Iterable[str]] = tuple,
        on_read: Callable[[int], object] = int,
    ) -> None:
        self._api = api.IronicAPI(adapter, request_id)
        self.close = adapter.session.session.close
        self._page_size = page_size
        self._request_id = request_id
        self._on_request = on_request
        self._on_read = on_read
        self._requested: tuple[str, ...] = ()
        self._scanned_with: tuple[str, ...] | None = None

    def check(self) -> None:
        """Refuse a server that is too old; every request does so.

        Source: ironic-shards, "Config changes": shards need API 1.82.

        :raises IronicTooOldError: naming the microversion that is needed.
        """
        self._api.negotiate()

    def get(self, uuid: str) -> model.Node | None:
        """Get a node without any filter; ``None`` if Ironic answers 404."""
        if not is_uuid(uuid):
            raise exceptions.IronicError(f'{uuid!r} is not the uuid of a node')
        try:
            data = self._api.get(
                f'/nodes/{uuid}',
                [one for one in [self._all_fields()] if one[0] == 'fields'],
                about=uuid,
            )
        except errors.NotFoundError:
            return None
        node = NodeReader(self._requested).read(data)
        if node is None or node.uuid.lower() != uuid.lower():
            raise exceptions.IronicError(
                f'The answer of Ironic is not the node {uuid}'
            )
        return node

    def node_of_instance(self, instance_uuid: str) -> str | None:
        """Return the uuid of the node with an instance, of any scope.

        Source: ironic-shards, "Proposed change". In one request, which is no
        list of nodes.
        """
        if not is_uuid(instance_uuid):
            return None
        rows = self._api.get('/nodes', [('instance_uuid', instance_uuid)])
        with transport.odd_values(errors.unusable('a list of nodes')):
            for row in rows['nodes']:
                # A server that ignored the filter would list all nodes.
                if row['instance_uuid'].lower() == instance_uuid.lower():
                    return str(row['uuid'])
        return None

    def node_named(self, name: str) -> str | None:
        # "detail" is no node but a list of all of them.
        """Return the uuid of the node with a name; as above."""
        if name == 'detail' or not _NAME.fullmatch(name):
            return None
        try:
            found = self._api.get(f'/nodes/{name}', about=name).get('uuid')
        except errors.NotFoundError:
            return None
        return found if isinstance(found, str) else None

    def shard_counts(self) -> Mapping[str | None, int]:
        """Count the nodes of every shard, also those it may not list.

        :returns: by shard; the key ``None`` is for nodes without one.
        """
        counts: dict[str | None, int] = {}
        with transport.odd_values(errors.unusable('a count of shards')):
            for row in self._api.get('/shards')['shards']:
                name = None if row['name'] == 'None' else str(row['name'])
                counts[name] = counts.get(name, 0) + int(row['count'])
        return counts

    def set_shard(self, uuid: str, shard: str) -> str | None:
        """Set the shard of a node.

        :returns: why Ironic refuses it for this node, beginning with the
            code of a gate of a move; ``None`` if it is done.
        :raises IronicError: if Ironic refuses it for any node.
        """
        patch = [{'op': 'add', 'path': '/shard', 'value': shard}]
        path = f'/nodes/{checked_uuid(uuid)}'
        try:
            self._api.write('PATCH', path, patch, about=uuid)
        except errors.NotFoundError:
            return 'node_exists: Ironic answers 404 for its uuid'
        except errors.ConflictError as exc:
            return f'no_operation_in_progress: {exc}'
        return None

    def enforcement(self, shared_key: str) -> bare_metal.Enforcement:
        """Return whether Ironic refuses the requests of former owners.

        :param shared_key: with which services sign their requests.
        """
        return self._api.probe_enforcement(shared_key)

    def conductors(self) -> Sequence[model.Conductor]:
        # A conductor that died stays on the list, so it contains every one
        # that the deployment ever had.
        """List all conductors, those that are not alive as well."""
        found: dict[str, model.Conductor] = {}
        for page in api.pages(
            self._api,
            'conductors',
            [('fields', 'hostname,conductor_group,alive,drivers')],
            key='hostname',
            page_size=self._page_size,
        ):
            for one in filter(None, map(nodes.conductor, page)):
                found[one.hostname] = one
        return list(found.values())

    def _all_fields(self) -> tuple[str, str]:
        # The same for all pages of a list, and for the reader of them.
        self._requested = (*sorted(self._on_request()),)
        return query(self._api.minor, self._requested)
