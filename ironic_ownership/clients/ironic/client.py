"""The nodes of Ironic, over keystoneauth.

It reads plain JSON: objects of openstacksdk cost fifty times as much. It must
never turn a failure into a missing node: a scan is the whole list or an
error, and a node is only gone when Ironic itself reports that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from oslo_log import log

from ironic_ownership.clients import transport
from ironic_ownership.clients.ironic import api, errors, nodes
from ironic_ownership.contracts import bare_metal, exceptions, model
from ironic_ownership.contracts.calls import new_request_id

if TYPE_CHECKING:
    from keystoneauth1 import adapter as ksa_adapter

LOG = log.getLogger(__name__)

SCAN_ATTEMPTS = 5
"""Attempts to read a list that changes in between."""


class IronicClient:
    """The nodes of one Ironic.

    Threading: one thread at a time. Blocking: seconds to minutes, so never
    from the heartbeat thread. Failure: :class:`IronicUnavailableError` where
    a retry may succeed, else :class:`IronicError`.

    Child nodes (``parent_node`` is set) are not listed, which is the default
    of the server: they are parts of another node and take no instance.

    :param page_size: nodes on one page, 1 to 1000.
    :param request_id: without it, each scan has one of its own.
    :param on_request: returns the fields of policies that
        the next request reads as well.
    :param on_read: receives the number of nodes that a list has so far, after
        each of its pages.
    :ivar close: closes its connections; a later request opens others.
    :ivar outage_counts: whether every node is out of service while no
        conductor is alive, which the operator chooses.
    """

    outage_counts = True

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

    def scan(
        self, scope: model.Scope, *, summary: bool = False
    ) -> Sequence[model.Node]:
        """List every node in the scope once, never a part of the list.

        Exact in the shard. Begins again when the last node of a page was
        deleted, or when a node comes twice.

        :param summary: read only the fields of ``bare_metal.SUMMARY``, which
            costs the server a fraction; the others are as in a node without
            them.
        """
        if summary:
            return [*self._scan(scope, (), bare_metal.SUMMARY).values()]
        return [*self.fleet(scope).values()]

    def fleet(
        self,
        scope: model.Scope,
        known: Mapping[str, model.Node] = bare_metal.NO_NODES,
    ) -> dict[str, model.Node]:
        """List every node in the scope, as :meth:`scan`, to keep them.

        :param known: nodes that are kept already. The equal ones among them
            are returned, so that memory holds none of them twice.
        :returns: by uuid.
        """
        found = self._scan(scope, known=known)
        self._scanned_with = self._requested
        return found

    def latest_changes(
        self, scope: model.Scope, limit: int
    ) -> bare_metal.LatestChanges | None:
        """List the nodes in the scope that changed last, in one request.

        :param limit: number of nodes; the server may have a smaller one.
        :returns: ``None`` if this Ironic cannot tell.
        """
        if scope.nothing:
            return None
        fields = self._same_fields()
        body, read_at = self._api.get_dated(
            '/nodes/detail',
            [('limit', str(limit)), *nodes.by_change(scope, 'desc')],
        )
        if read_at is None:
            return None
        rows = nodes.changed(body.get('nodes'), self._api.minor, fields)
        is_complete = 'next' not in body and len(body['nodes']) < limit
        return bare_metal.LatestChanges([*rows], read_at, is_complete)

    def changed_after(
        self, scope: model.Scope, uuid: str, most: int
    ) -> Sequence[bare_metal.ChangedNode] | None:
        """List the nodes in the scope that changed after a certain node.

        In any number of requests: what changes in between comes at the end.

        :param uuid: of that node.
        :returns: each once, the latest last; ``None`` if there are more than
            ``most``.
        """
        if scope.nothing:
            return []
        fields = self._same_fields()
        found: dict[str, bare_metal.ChangedNode] = {}
        params = [('detail', 'true'), *nodes.by_change(scope, 'asc')]
        size = self._page_size
        for page in api.pages(
            self._api, 'nodes', params, marker=uuid, page_size=size
        ):
            for row in nodes.changed(page, self._api.minor, fields):
                # Again, as the latest.
                found.pop(row.node.uuid, None)
                found[row.node.uuid] = row
            if len(found) > most:
                return None
        return [*found.values()]

    def newest(self, scope: model.Scope, limit: int) -> Sequence[model.Node]:
        """List the nodes in the scope that were created last, newest first.

        In one request.

        :param limit: number of nodes; the server may have a smaller one.
        """
        if scope.nothing:
            return []
        fields = self._same_fields()
        body = self._api.get(
            '/nodes',
            [
                ('limit', str(limit)),
                # By the ids in the database of Ironic.
                ('sort_dir', 'desc'),
                nodes.query(self._api.minor, fields),
                *nodes.in_scope(scope),
            ],
        )
        rows = nodes.rows_of(body.get('nodes'))
        return [*filter(None, map(nodes.NodeReader(fields).read, rows))]

    def _same_fields(self) -> Sequence[str]:
        """Return the fields of the last scan.

        :raises IronicError: if others are requested by now: nodes that have
            not changed lack them.
        """
        requested = (*sorted(self._on_request()),)
        if self._scanned_with not in (None, requested):
            raise exceptions.IronicError('a policy requests other fields')
        return requested

    def instances(self, scope: model.Scope) -> Mapping[str, str]:
        """List all nodes in the scope with an instance, cheaper than a scan.

        :returns: uuid of the instance, by uuid of the node.
        """
        # The last two are compared with the scope.
        fields = ('uuid', 'instance_uuid', 'shard', 'conductor_group')
        found = self._scan(scope, (('associated', 'true'),), fields)
        return {
            uuid: node.instance_uuid
            for uuid, node in found.items()
            if node.instance_uuid
        }

    def free(
        self,
        scope: model.Scope,
        *,
        resource_class: str | None = None,
        enough: int | None = None,
    ) -> Sequence[model.Node]:
        """List nodes in the scope that are available and have no instance.

        Nodes that the server can't filter out may be among them.

        :param resource_class: exactly as in Ironic; any, if not given.
        :param enough: limit of the result; without it all of them.
        """
        more = [*nodes.FREE]
        if resource_class is not None:
            more.append(('resource_class', resource_class))
        return [*self._scan(scope, more, enough=enough).values()]

    def count(self, scope: model.Scope) -> int:
        """Count the nodes in the scope that the credential may list.

        Child nodes count, though a scan leaves them out: so does
        :meth:`shard_counts`, with which this is compared.
        """
        return len(self._scan(scope, nodes.with_children(self._api.minor)))

    def _scan(
        self,
        scope: model.Scope,
        more: api.Params = (),
        fields: Sequence[str] = (),
        *,
        enough: int | None = None,
        known: Mapping[str, model.Node] = bare_metal.NO_NODES,
    ) -> dict[str, model.Node]:
        if scope.nothing:
            return {}
        request_id = self._request_id or new_request_id()
        params = [
            ('fields', ','.join(fields)) if fields else self._all_fields(),
            *more,
            *nodes.in_scope(scope),
        ]
        for number in range(1, SCAN_ATTEMPTS + 1):
            try:
                return self._walk(known, scope, request_id, params, enough)
            except api.ListChangedError as exc:
                LOG.info(
                    'The list of nodes changed while it was read (%s): '
                    'attempt %s of %s failed',
                    exc,
                    number,
                    SCAN_ATTEMPTS,
                )
        raise exceptions.IronicUnavailableError(
            f'The list of nodes changed in each of {SCAN_ATTEMPTS} attempts '
            'to read it',
            hint='A larger [ironic] page_size needs fewer pages',
        )

    def get(self, uuid: str) -> model.Node | None:
        """Get a node without any filter; ``None`` if Ironic answers 404."""
        path, fields = f'/nodes/{nodes.checked_uuid(uuid)}', self._all_fields()
        try:
            data = self._api.get(
                path, [fields] if fields[0] == 'fields' else (), about=uuid
            )
        except errors.NotFoundError:
            return None
        node = nodes.NodeReader(self._requested).read(data)
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
        if not nodes.is_uuid(instance_uuid):
            return None
        rows = self._api.get('/nodes', [('instance_uuid', instance_uuid)])
        with transport.odd_values(errors.unusable, 'a list of nodes'):
            for row in rows['nodes']:
                # A server that ignored the filter would list all nodes.
                if row['instance_uuid'].lower() == instance_uuid.lower():
                    return str(row['uuid'])
        return None

    def node_named(self, name: str) -> str | None:
        """Return the uuid of the node with a name; as above."""
        if not nodes.is_name(name):
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
        with transport.odd_values(errors.unusable, 'a count of shards'):
            for row in self._api.get('/shards')['shards']:
                name = None if row['name'] == 'None' else str(row['name'])
                number = transport.number(row['count'])
                counts[name] = counts.get(name, 0) + number
        return counts

    def set_shard(self, uuid: str, shard: str) -> str | None:
        """Set the shard of a node.

        :returns: why Ironic refuses it for this node, beginning with the
            code of a gate of a move; ``None`` if it is done.
        :raises IronicError: if Ironic refuses it for any node.
        """
        patch = [{'op': 'add', 'path': '/shard', 'value': shard}]
        path = f'/nodes/{nodes.checked_uuid(uuid)}'
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
        """List all conductors, those that are not alive as well."""
        # A conductor that died stays on the list, so it contains every one
        # that the deployment ever had.
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

    def _walk(
        self,
        known: Mapping[str, model.Node],
        scope: model.Scope,
        request_id: str,
        params: api.Params,
        enough: int | None,
    ) -> dict[str, model.Node]:
        found: dict[str, model.Node] = {}
        reader = nodes.NodeReader(self._requested)
        outside = 0
        for page in api.pages(
            self._api,
            'nodes',
            params,
            page_size=min(self._page_size, enough or self._page_size),
            request_id=request_id,
        ):
            for node in filter(None, map(reader.read, page)):
                if not scope.matches(node.shard, node.conductor_group):
                    outside += 1
                elif node.uuid in found:
                    raise api.ListChangedError(f'{node.uuid} came twice')
                else:
                    found[node.uuid] = bare_metal.same(node, known)
            del page  # before the next one is read
            self._on_read(len(found) + outside)
            if enough is not None and len(found) + outside >= enough:
                break
        if outside:
            LOG.debug('Ironic listed %s nodes outside %s', outside, scope)
        return found

    def _all_fields(self) -> tuple[str, str]:
        # The same for all pages of a list, and for the reader of them.
        self._requested = (*sorted(self._on_request()),)
        return nodes.query(self._api.minor, self._requested)
