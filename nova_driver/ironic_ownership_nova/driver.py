"""Driver of nova-compute: Nova's own for Ironic, with nodes from the records.

Nova's driver does the work on a node. Which nodes there are, and whether this
process may act on one, is decided by the embedded host.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import pathlib
import threading
import time
from collections.abc import Callable, Collection
from typing import Any

import nova.conf
from nova import baserpc, exception, objects, version
from nova.conductor import rpcapi as conductor_rpcapi
from nova.context import get_admin_context
from nova.virt.ironic import driver as ironic_driver
from oslo_log import log

from ironic_ownership.embedding import (
    EmbeddedHost,
    FeedChanges,
    exceptions,
)
from ironic_ownership_nova import (
    allocator,
    compatibility,
    options,
    settings,
)
from ironic_ownership_nova.conductor_monitor import ConductorMonitor
from ironic_ownership_nova.connection import ActionGuard, GuardedConnection
from ironic_ownership_nova.node_view import (
    CachedNode,
    ConfirmedResources,
    digest,
)
from ironic_ownership_nova.operations import GuardedOperations
from ironic_ownership_nova.reported import ReportedNodes
from ironic_ownership_nova.service import Service, exit_process
from ironic_ownership_nova.tracker import Report, Tracker

LOG = log.getLogger(__name__)
CONF = nova.conf.CONF

options.register_opts(CONF)


class OwnershipMixin(GuardedOperations):
    """A driver for Ironic, for the nodes that this service owns.

    It stands before Nova's driver, or a vendor's that derives from it.
    """

    def __init__(self, virtapi: Any, read_only: bool = False) -> None:
        # Before anything of Nova has started that has to be stopped again.
        compatibility.require()
        # Before the first thread of the embedded host.
        allocator.limit_arenas()
        super().__init__(virtapi, read_only)
        own = CONF[options.GROUP]
        self._settings = settings.read(CONF)
        self._turn = threading.local()
        self._cache_lock = threading.Lock()
        self._reported = ReportedNodes(
            pathlib.Path(CONF.state_path) / 'ironic-ownership-reported.json',
            _basis(),
            own.full_update_interval,
        )
        self._service = Service(
            self._embedded_host,
            self._follow,
            own.guard_patience,
            self._reported.load,
        )
        self.action_guard = ActionGuard(
            self._service.permit, exception.NovaException
        )
        self._monitor = ConductorMonitor(
            _ping(own.conductor_check_interval),
            self._service.stop,
            self._service.rejoin,
            own.conductor_check_interval,
            own.conductor_failures,
        )
        self._tracker: Tracker | None = None
        self._reserved: frozenset[str] = frozenset()
        self._is_new = self._is_disabled = False

    @property
    def ironic_connection(self) -> Any:
        """The client of Ironic, which asks the guard before each write."""
        return GuardedConnection(super().ironic_connection, self.action_guard)

    def init_host(self, host: str) -> None:
        """Start to serve, and wait until this process is active.

        :param host: name of the service in the cell.
        :raises InvalidConfiguration: if the settings can't be used.
        """
        self._tracker = Tracker(
            host,
            self._reported,
            shortcuts=compatibility.shortcuts(
                self.virtapi, CONF[options.GROUP].shortcuts
            ),
            follows_records=self._settings.follows_records,
        )
        service = _service_of(host)
        if (
            self._settings.follows_records
            and service is not None
            and service.host != host
        ):
            # Rows get the spelling of the cell, and queues have that of Nova.
            raise exception.InvalidConfiguration(
                f'[DEFAULT] host is {host}, and the cell has the service '
                f'{service.host}: set host = {service.host}. Messages to the '
                'one do not reach the other'
            )
        self._is_new = service is None
        try:
            self._service.start()
        except exceptions.OwnershipError as exc:
            raise exception.InvalidConfiguration(str(exc)) from exc
        # A vendor's may do more than Nova's, which builds its ring.
        super().init_host(host)
        self._monitor.start()

    def cleanup_host(self, host: str) -> None:
        """Stop to serve; exit if the process has lost its place."""
        self._monitor.stop()
        # Others take the free nodes at once.
        self._service.close()
        self._reported.store()
        super().cleanup_host(host)
        if self._service.is_ending:
            compatibility.finish_operations(self.virtapi)
            # Nova itself would exit with status 0, after which no supervisor
            # starts it again.
            exit_process()

    def get_available_nodes(self, refresh: bool = False) -> list[str]:
        """Return the uuids of the nodes that this service owns.

        :raises VirtDriverNotReady: while it may not act.
        """
        self._own_tracker.confirm()
        service = _service_of(CONF.host)
        self._is_disabled = service is not None and service.disabled
        if self._is_new and service is not None:
            # Until now no row could name this service, so that claims of
            # nodes with a row were refused.
            self._is_new = False
            self._service.refresh()
        self._refresh_cache()
        if self._service.feed is None:
            # It has ended meanwhile, and soon Nova's pool of threads does.
            raise exception.VirtDriverNotReady
        return list(self.node_cache)

    def get_available_resource(self, nodename: str) -> Any:
        """Return the resources of a node.

        Source: the first call of a pass of the resource tracker for a node,
        in the thread of all others of this pass.

        :raises ComputeHostNotFound: if the node was moved away meanwhile.
        """
        tracker = self._own_tracker
        self._turn.skipped = None
        # Its pass has ended; until it is confirmed, its providers are kept.
        previous = getattr(self._turn, 'previous', None)
        if previous is not None:
            tracker.confirm_node(previous)
        self._turn.previous = nodename
        tracker.require(nodename)
        try:
            resources = super().get_available_resource(nodename)
        except exception.VirtDriverNotReady as exc:
            # It has lost all nodes meanwhile.
            raise exception.ComputeHostNotFound(host=nodename) from exc
        node = self.node_cache.get(nodename)
        if node is not None and tracker.can_skip(
            nodename, self._digest(node, nodename in self._reserved)
        ):
            self._turn.skipped = nodename
        return ConfirmedResources(
            resources, functools.partial(self._confirm, nodename)
        )

    def _confirm(self, nodename: str) -> None:
        """Check that Nova may still write the row of a node, and report it.

        The process may have been frozen for a long time, and the node was
        lost meanwhile. Its next owner does not correct what is written then:
        it reports what has changed.

        :raises ComputeHostNotFound: which makes Nova skip the node.
        """
        self._own_tracker.require(nodename)
        feed = self._service.feed
        if feed is None or nodename not in feed.owned():
            raise exception.ComputeHostNotFound(host=nodename)

    def prepare_for_spawn(self, instance: Any) -> None:
        """Give the node its instance in Ironic, and record that now.

        If this process dies before its next refresh, the node is on record
        with its instance.
        """
        super().prepare_for_spawn(instance)
        self._service.refresh()

    def destroy(
        self, context: Any, instance: Any, *args: Any, **kwargs: Any
    ) -> None:
        """Delete an instance, also one of which Nova has forgotten the node.

        After a build whose clean-up was refused, for example. Nova's driver
        would ask Ironic for the volume targets of all nodes.
        """
        if instance.node is None:
            with contextlib.suppress(exception.InstanceNotFound):
                node = self._validate_instance_and_node(instance)
                instance = instance.obj_clone()
                instance.node = node.id
        super().destroy(context, instance, *args, **kwargs)

    def list_instance_uuids(self) -> list[str]:
        """List the instances on the nodes; none for a new service.

        Nova refuses to start a host that is new and has instances. Of those
        that Nova does not know, there may be some from the beginning.
        """
        return [] if self._is_new else super().list_instance_uuids()

    def get_num_instances(self) -> int:
        """Return how many there are, also if Nova does not know one.

        Otherwise Nova 33 would compare the power state of none.
        """
        return len(self.list_instance_uuids())

    def node_is_available(self, nodename: str) -> bool:
        """Tell whether a node exists; once no, if it has not changed.

        The resource tracker ends its pass for the node then. While this
        service may not act, it has no node: a deletion goes on.
        """
        if getattr(self._turn, 'skipped', None) == nodename:
            self._turn.skipped = None
            return False
        try:
            return bool(super().node_is_available(nodename))
        except exception.VirtDriverNotReady:
            return False

    def is_node_deleted(self, nodename: str) -> bool:
        """Return no: ironic-ownership deletes records and providers."""
        return False

    def update_provider_tree(
        self, provider_tree: Any, nodename: str, allocations: Any = None
    ) -> None:
        """Describe a node to Placement, as Nova's driver does.

        Source: out-of-service: a node without a conductor for it is reserved,
        as Nova's driver reserves one in maintenance.
        """
        tracker = self._own_tracker
        tracker.sent(nodename, None)
        is_reserved = nodename in self._reserved
        node = self.node_cache.get(nodename)
        super().update_provider_tree(provider_tree, nodename, allocations)
        if is_reserved:
            found = provider_tree.data(nodename).inventory
            provider_tree.update_inventory(
                nodename,
                {
                    c: {**of, 'reserved': of['total']}
                    for c, of in found.items()
                },
            )
        # Another thread may have replaced it since it was described.
        if node is not None and node is self.node_cache.get(nodename):
            tracker.sent(
                nodename,
                Report(self._digest(node, is_reserved), provider_tree),
            )

    def _digest(self, node: Any, is_reserved: bool) -> str:
        return digest(node, is_reserved, self._is_disabled)

    def _refresh_hash_ring(self, ctxt: Any) -> None:
        """Do nothing: policies decide, not a ring of Nova."""

    def _refresh_cache(self) -> None:
        """Fill the cache from the last scan, without a request to Ironic."""
        feed = self._service.feed
        if feed is None:
            raise exception.VirtDriverNotReady
        owned = feed.owned()
        offered = self._own_tracker.offer(owned)
        cache = {
            uuid: CachedNode.of(view.node)
            for uuid, view in owned.items()
            if uuid in offered
        }
        with self._cache_lock:
            self.node_cache = cache
        self._reserved = frozenset(
            uuid for uuid in offered if owned[uuid].is_reserved
        )
        self.node_cache_time = time.time()
        # Those whose loss was followed while their rows were read.
        self._lose(owned.keys() - feed.owned().keys())

    @property
    def _own_tracker(self) -> Tracker:
        if self._tracker is None:
            raise exception.VirtDriverNotReady
        return self._tracker

    def _follow(self, changes: FeedChanges) -> None:
        lost = (
            self.node_cache.keys() - changes.gained.keys()
            if changes.reset
            else changes.lost
        )
        self._lose(lost)
        self._own_tracker.gained(changes.gained)

    def _lose(self, uuids: Collection[str]) -> None:
        if not uuids:
            return
        with self._cache_lock:
            # At once, because threads of Nova add nodes and take them.
            cache = dict(self.node_cache)
            for uuid in uuids:
                cache.pop(uuid, None)
            self.node_cache = cache
        self._own_tracker.lost(uuids)

    def _embedded_host(self, on_lost_place: Any) -> EmbeddedHost:
        found = self._settings
        return EmbeddedHost(
            config_files=found.files,
            config_dirs=found.directories,
            overrides=found.overrides,
            on_lost_place=on_lost_place,
        )


class OwnershipDriver(OwnershipMixin, ironic_driver.IronicDriver):
    """Nova's driver for Ironic, for the nodes that this service owns."""


def _service_of(host: str) -> Any:
    """Return the service in the cell, if it is there: a start adds it."""
    return objects.Service.get_by_host_and_binary(
        get_admin_context(), host, 'nova-compute'
    )


def _basis() -> str:
    """Return what reports depend on, besides the node."""
    files = pathlib.Path(CONF.compute.provider_config_location)
    parts = [
        version.version_string_with_package(),
        CONF.cpu_allocation_ratio,
        CONF.ram_allocation_ratio,
        CONF.disk_allocation_ratio,
        CONF.reserved_host_memory_mb,
        CONF.reserved_host_disk_mb,
        CONF.workarounds.skip_reserve_in_use_ironic_nodes,
        [
            hashlib.sha256(path.read_bytes()).hexdigest()
            for path in sorted(files.glob('*.yaml'))
        ],
    ]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def _ping(timeout: float) -> Callable[[], None]:
    @functools.cache
    def client() -> Any:
        return baserpc.BaseAPI(topic=conductor_rpcapi.RPC_TOPIC)

    return lambda: client().ping(
        get_admin_context(), 'ironic-ownership', timeout=timeout
    )
