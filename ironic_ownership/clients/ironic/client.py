"""The nodes of a real Ironic: the port of the engine, over openstacksdk.

Asks with raw requests, because the SDK's objects cost fifty times as much.
It must never turn a failure into a missing node: a scan is the whole list or
an error, and a node is only gone when Ironic itself says so.
"""

from __future__ import annotations

import dataclasses
import re
import uuid as uuid_
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from oslo_config import cfg
from oslo_log import log

from ironic_ownership.clients import session
from ironic_ownership.clients.ironic import api
from ironic_ownership.clients.ironic import filters as ironic_filters
from ironic_ownership.clients.ironic.conductors import read_all
from ironic_ownership.clients.ironic.nodes import (
    FIELDS,
    ON_REQUEST,
    NodeReader,
    is_uuid,
)
from ironic_ownership.contracts import exceptions, inventory, model

if TYPE_CHECKING:
    from openstack import connection as sdk

LOG = log.getLogger(__name__)

MAX_PAGE_SIZE = 1000
"""More nodes than these Ironic never puts on one page, as it is shipped."""

WALKS = 5
"""How often a walk over the pages is begun before the scan gives up."""

GROUP = 'ironic'
SERVICE_TYPE = 'baremetal'
OPTS = (
    cfg.IntOpt(
        'page_size',
        default=MAX_PAGE_SIZE,
        min=1,
        max=MAX_PAGE_SIZE,
        help='How many nodes to ask Ironic for at once. A larger page means '
        'fewer requests, a smaller one shorter requests; see timeout, in '
        'seconds, which each of them has to keep. Ironic itself gives no '
        'more than its own [api] max_limit.',
    ),
)

_SHARD = 82
_CHILDREN = 83
_CONDUCTOR_GROUP = 46


class _WalkBrokenError(Exception):
    """The list changed under the walk: begin again."""


class IronicInventory(inventory.Inventory):
    """The nodes of one Ironic.

    Child nodes (``parent_node`` is set) are not listed, as the server does
    by default: they are parts of another node and take no instance.

    :param connection: of openstacksdk, with a time-out on its session.
    :param page_size: nodes asked for at once, 1 to 1000.
    :param request_id: "req-" and a uuid, sent with every request for nodes;
        without it each scan has one of its own.
    :param on_request: fields of :data:`ironic_nodes.ON_REQUEST` to ask for.
    """

    def __init__(
        self,
        connection: sdk.Connection,
        *,
        page_size: int = MAX_PAGE_SIZE,
        request_id: str | None = None,
        on_request: Iterable[str] = (),
    ) -> None:
        self._api = api.IronicAPI(connection)
        self._page_size = page_size
        self._request_id = request_id
        wanted = sorted(on_request)
        self._wanted = {f: ON_REQUEST[f] for f in wanted}

    def check(self, scope: model.Scope) -> None:
        """Refuse a server that cannot filter by what the scope names.

        Source: ironic-shards, "Config changes": shards need API 1.82;
        conductor-groups: the filter needs 1.46.

        :raises IronicTooOldError: naming the microversion that is needed.
        """
        self._api.negotiate()
        self._require(scope)

    def scan(self, scope: model.Scope) -> Sequence[model.Node]:
        """List every node in the scope: the whole list or an error.

        Exact in the shard, also where the server is not. The walk over the
        pages begins again when its place in the list was deleted, or when a
        node comes twice.

        :raises IronicUnavailableError: also if the list does not hold still.
        """
        return self._scan(scope, ())

    def instances(self, scope: model.Scope) -> Mapping[str, str]:
        """List the nodes in the scope that have an instance.

        Two fields of these nodes alone, and what the scope is checked by.
        """
        fields = [
            'uuid',
            'instance_uuid',
            *(['shard'] if scope.shard is not None else []),
            *(
                ['conductor_group']
                if scope.conductor_group is not None
                else []
            ),
        ]
        nodes = self._scan(scope, (('associated', 'true'),), fields)
        return {n.uuid: n.instance_uuid for n in nodes if n.instance_uuid}

    def free(
        self,
        scope: model.Scope,
        *,
        resource_class: str | None = None,
        enough: int | None = None,
    ) -> Sequence[model.Node]:
        """List nodes in the scope that are available and have no instance.

        The server filters by what its version knows, and no page is asked
        for once there are enough.
        """
        more = ironic_filters.free(self._api.minor, resource_class)
        return self._scan(scope, more, enough=enough)

    def count(self, scope: model.Scope) -> int:
        """Count what the credential may list, child nodes included."""
        children = (('include_children', 'true'),)
        more = children if self._api.minor >= _CHILDREN else ()
        return len(self._scan(scope, more))

    def _scan(
        self,
        scope: model.Scope,
        more: api.Params,
        fields: Sequence[str] = (),
        *,
        enough: int | None = None,
    ) -> Sequence[model.Node]:
        """List the nodes in the scope that more parameters leave.

        :param fields: all that are known, if not given.
        :param enough: number of nodes after which no page is asked for.
        """
        if scope.nothing:
            return []
        if scope.conductor_group is not None:
            scope = dataclasses.replace(
                scope, conductor_group=scope.conductor_group.lower()
            )
        self._require(scope)
        request_id = self._request_id or f'req-{uuid_.uuid4()}'
        fields = fields or self._known_fields()
        asked = [('fields', ','.join(fields)), *more]
        for number in range(1, WALKS + 1):
            try:
                return self._walk(scope, request_id, asked, enough)
            except _WalkBrokenError as exc:
                LOG.info(
                    'The list of nodes changed while it was read (%s), '
                    'walk %s of %s begins again',
                    exc,
                    number,
                    WALKS,
                )
        raise exceptions.IronicUnavailableError(
            f'The list of nodes changed in each of {WALKS} walks over it',
            hint='A larger [ironic] page_size needs fewer pages',
        )

    def get(self, uuid: str) -> model.Node | None:
        """Look one node up by its uuid, without any filter.

        A credential that may not see the node is told the same 404 as for a
        node that is gone: Ironic makes no difference.

        :returns: the node, or ``None`` only if Ironic itself says, about
            this uuid, that it has no such node.
        """
        if not is_uuid(uuid):
            raise exceptions.IronicError(f'{uuid!r} is not the uuid of a node')
        try:
            data = self._api.get(
                f'/nodes/{uuid}',
                [('fields', ','.join(self._known_fields()))],
                about=uuid,
                request_id=self._request_id,
            )
        except api.NotFoundFault:
            return None
        node = NodeReader().read(data)
        if node is None or node.uuid.lower() != uuid.lower():
            raise exceptions.IronicError(
                f'Ironic answered with something else than the node {uuid}'
            )
        return node

    def shard_counts(self) -> Mapping[str | None, int]:
        """Count the nodes of every shard, whatever the credential may list.

        Ironic calls "no shard" ``None``, as text: a shard of that very name
        is counted with the nodes that have none.

        :raises IronicTooOldError: if the server does not know shards.
        """
        self._require(model.Scope(shard=''))
        counts: dict[str | None, int] = {}
        try:
            for row in self._api.get('/shards')['shards']:
                name = None if row['name'] == 'None' else str(row['name'])
                counts[name] = counts.get(name, 0) + int(row['count'])
        except (KeyError, TypeError, ValueError) as exc:
            raise exceptions.IronicError(
                'Ironic answered with something else than a count of shards'
            ) from exc
        return counts

    def conductors(self) -> Sequence[model.Conductor]:
        """List all conductors, those that are not alive as well.

        :raises IronicTooOldError: before API 1.49.
        """
        return read_all(self._api, self._page_size, self._request_id)

    def _require(self, scope: model.Scope) -> None:
        _ = self._api.minor
        if scope.shard is not None:
            self._api.require(_SHARD, 'filter by shard')
        if scope.conductor_group is not None:
            self._api.require(_CONDUCTOR_GROUP, 'filter by conductor group')

    def _walk(
        self,
        scope: model.Scope,
        request_id: str,
        more: api.Params,
        enough: int | None,
    ) -> Sequence[model.Node]:
        reader = NodeReader()
        nodes: dict[str, model.Node] = {}
        filters = [*more, *ironic_filters.filters(scope)]
        for page in self._pages(filters, request_id, enough):
            for data in page:
                node = reader.read(data)
                if node is None:
                    continue
                if node.uuid in nodes:
                    raise _WalkBrokenError(f'{node.uuid} came twice')
                nodes[node.uuid] = node
            if enough is not None and len(nodes) >= enough:
                break
        inside = [
            node
            for node in nodes.values()
            if scope.matches(node.shard, node.conductor_group)
        ]
        outside = len(nodes) - len(inside)
        if outside:
            LOG.debug('Ironic listed %s nodes outside of %s', outside, scope)
        return inside

    def _pages(
        self,
        filters: api.Params,
        request_id: str,
        enough: int | None,
    ) -> Iterator[list[Any]]:
        """Give one page after the other, each asked for with every filter.

        The server's own link to the next page only tells that there is one:
        it lacks the filters.
        """
        params = [
            ('limit', str(min(self._page_size, enough or self._page_size))),
            *filters,
        ]
        marker: str | None = None
        while True:
            page, more = self._page(params, marker, request_id)
            yield page
            if not more:
                return
            marker = ironic_filters.last_uuid(page, marker)

    def _page(
        self,
        params: api.Params,
        marker: str | None,
        request_id: str,
    ) -> tuple[list[Any], bool]:
        if marker is not None:
            params = [*params, ('marker', marker)]
        try:
            body = self._api.get(
                '/nodes', params, about=marker, request_id=request_id
            )
        except api.NotFoundFault as exc:
            raise _WalkBrokenError(f'{marker} was deleted') from exc
        page = body.get('nodes')
        if not isinstance(page, list):
            raise exceptions.IronicError(
                'Ironic answered with something else than a list of nodes'
            )
        return page, 'next' in body or len(page) >= self._page_size

    def _known_fields(self) -> list[str]:
        minor = self._api.minor
        fields = {**FIELDS, **self._wanted}
        return [field for field, since in fields.items() if since <= minor]


def register_opts(conf: cfg.ConfigOpts) -> None:
    """Register the options of the client, after the files were read."""
    conf.register_opts(OPTS, group=GROUP)
    session.register_opts(conf, GROUP, service_type=SERVICE_TYPE)


def list_opts() -> list[tuple[str, list[cfg.Opt]]]:
    """Return the options by group, for the sample and the validator."""
    return [(GROUP, [*OPTS, *session.list_opts(SERVICE_TYPE)])]


def open_inventory(
    conf: cfg.ConfigOpts,
    request_id: str | None = None,
    on_request: Iterable[str] = (),
) -> IronicInventory:
    """Build the inventory from ``[ironic]``; nothing is sent yet.

    :param request_id: sent with every request for nodes.
    :param on_request: fields to ask for that are not always asked for.
    :raises ConfigurationError: if a value has not the type of its option.
    :raises IronicError: naming the line that is missing or wrong.
    """
    try:
        register_opts(conf)
        connection = session.connect(conf, GROUP, service_type=SERVICE_TYPE)
        return IronicInventory(
            connection,
            page_size=conf[GROUP].page_size,
            request_id=request_id,
            on_request=on_request,
        )
    except cfg.Error as exc:
        # oslo.config tells where it keeps the value; that helps nobody.
        text = re.sub(r' from LocationInfo\(.*\) is not', ' is not', str(exc))
        raise exceptions.ConfigurationError([f'[{GROUP}] {text}']) from exc
