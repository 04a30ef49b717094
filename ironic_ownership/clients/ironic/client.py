"""The port to Ironic on a real one, over keystoneauth.

It reads plain JSON: objects of openstacksdk cost fifty times as much. It must
never turn a failure into a missing node: a scan is the whole list or an
error, and a node is only gone when Ironic itself reports that.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from oslo_config import cfg
from oslo_log import log

from ironic_ownership.clients import transport
from ironic_ownership.clients.ironic import api, nodes
from ironic_ownership.clients.ironic.lookups import Lookups
from ironic_ownership.clients.ironic.nodes import (
    FREE,
    NodeReader,
    in_scope,
    query,
)
from ironic_ownership.contracts import bare_metal, exceptions, model
from ironic_ownership.contracts.calls import new_request_id

LOG = log.getLogger(__name__)

SCAN_ATTEMPTS = 5
"""Attempts to read a list that changes in between."""

GROUP = 'ironic'
OPTS = (
    cfg.IntOpt(
        'page_size',
        default=api.PAGE_SIZE,
        min=1,
        max=api.PAGE_SIZE,
        help='Number of nodes in one answer of Ironic. A larger page means '
        'fewer requests, a smaller one shorter requests; each of them has to '
        'end within timeout, in seconds. Ironic itself gives no more than '
        'its own [api] max_limit.',
    ),
)

_CHILDREN = 83


class IronicClient(Lookups):
    """The nodes of one Ironic.

    Threading: one thread at a time. Blocking: seconds to minutes, so never
    from the heartbeat thread. Failure: :class:`IronicUnavailableError` where
    a retry may succeed, else :class:`IronicError`.

    Child nodes (``parent_node`` is set) are not listed, which is the default
    of the server: they are parts of another node and take no instance.

    :ivar outage_counts: whether every node is out of service while no
        conductor is alive, which the operator chooses.
    """

    outage_counts = True

    def scan(
        self, scope: model.Scope, *, summary: bool = False
    ) -> Sequence[model.Node]:
        """List every node in the scope once, never a part of the list.

        Exact in the shard. Begins again when the last node of a page was
        deleted, or when a node comes twice.

        :param summary: read only the fields of :data:`SUMMARY`, which costs
            the server a fraction; the others are as in a node without them.
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
        return bare_metal.LatestChanges(
            [*rows],
            read_at,
            'next' not in body and len(body['nodes']) < limit,
        )

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
        query = [('detail', 'true'), *nodes.by_change(scope, 'asc')]
        size = self._page_size
        for page in api.pages(
            self._api, 'nodes', query, marker=uuid, page_size=size
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
                query(self._api.minor, fields),
                *in_scope(scope),
            ],
        )
        read = map(NodeReader(fields).read, nodes.rows_of(body.get('nodes')))
        return [node for node in read if node is not None]

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
        # The last two are compared with the scope.
        """List all nodes in the scope with an instance, cheaper than a scan.

        :returns: uuid of the instance, by uuid of the node.
        """
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
        more = [*FREE]
        if resource_class is not None:
            more.append(('resource_class', resource_class))
        return [*self._scan(scope, more, enough=enough).values()]

    def count(self, scope: model.Scope) -> int:
        """Count the nodes in the scope that the credential may list.

        Child nodes count, though a scan leaves them out: so does
        :meth:`shard_counts`, with which this is compared.
        """
        children = (('include_children', 'true'),)
        more = children if self._api.minor >= _CHILDREN else ()
        return len(self._scan(scope, more))

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
        if scope.conductor_group is not None:
            scope = dataclasses.replace(
                scope, conductor_group=scope.conductor_group.lower()
            )
        request_id = self._request_id or new_request_id()
        params = [
            ('fields', ','.join(fields)) if fields else self._all_fields(),
            *more,
            *in_scope(scope),
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

    def _walk(
        self,
        known: Mapping[str, model.Node],
        scope: model.Scope,
        request_id: str,
        params: api.Params,
        enough: int | None,
    ) -> dict[str, model.Node]:
        found: dict[str, model.Node] = {}
        reader = NodeReader(self._requested)
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


def register_opts(conf: cfg.ConfigOpts) -> None:
    """Register the options of the client, after the files were read."""
    conf.register_opts(OPTS, group=GROUP)
    transport.register_opts(conf, GROUP)


def list_opts() -> list[tuple[str, list[cfg.Opt]]]:
    """Return the options by group, for the sample and the validator."""
    return [(GROUP, [*OPTS, *transport.list_opts(GROUP)])]


def open_ironic(conf: cfg.ConfigOpts, **how: Any) -> IronicClient:
    """Build the client from ``[ironic]``; nothing is sent yet.

    :param how: as for :class:`Lookups`.
    :raises ConfigurationError: if a value has not the type of its option.
    :raises IronicError: naming the line that is missing or wrong.
    """
    register_opts(conf)
    return IronicClient(
        transport.connect(conf, GROUP),
        page_size=transport.value(conf, GROUP, 'page_size'),
        **how,
    )
