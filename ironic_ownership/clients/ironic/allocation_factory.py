"""Clients that reserve nodes, built from ``[ironic]``, one per method."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from oslo_config import cfg

from ironic_ownership.clients import session
from ironic_ownership.clients.ironic import client, instance_uuids
from ironic_ownership.clients.ironic.allocations import IronicAllocations
from ironic_ownership.contracts import allocations

_CLIENTS: Mapping[
    allocations.Method, Callable[..., allocations.Allocations]
] = {
    allocations.Method.ALLOCATION: IronicAllocations,
    allocations.Method.INSTANCE_UUID: instance_uuids.IronicInstanceUUIDs,
}


def open_allocations(
    conf: cfg.ConfigOpts,
    method: allocations.Method = allocations.Method.ALLOCATION,
    *,
    request_id: str | None = None,
) -> allocations.Allocations:
    """Build a client that reserves nodes; nothing is sent yet.

    :raises ConfigurationError: if a value has not the type of its option.
    :raises IronicError: naming the line that is missing or wrong.
    """
    client.register_opts(conf)
    adapter = session.connect(
        conf, client.GROUP, service_type=client.SERVICE_TYPE
    )
    return _CLIENTS[method](adapter, request_id=request_id)
