"""From ``[ironic]`` to what reserves nodes there, by one method or the other.

Nothing is sent here: an Ironic that is down must not keep a process from
being built.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from oslo_config import cfg

from ironic_ownership.clients import session
from ironic_ownership.clients.ironic import client, instance_uuids
from ironic_ownership.clients.ironic.allocations import IronicAllocations
from ironic_ownership.contracts import allocations, exceptions

_CLIENTS: Mapping[
    allocations.Method, Callable[..., allocations.Allocations]
] = {
    allocations.Method.ALLOCATION: IronicAllocations,
    allocations.Method.INSTANCE_UUID: (instance_uuids.IronicInstanceUUIDs),
}


def open_allocations(
    conf: cfg.ConfigOpts,
    method: allocations.Method = allocations.Method.ALLOCATION,
    *,
    request_id: str | None = None,
) -> allocations.Allocations:
    """Build what reserves nodes from ``[ironic]``; nothing is sent yet.

    :param request_id: sent with every request.
    :raises ConfigurationError: if a value has not the type of its option.
    :raises IronicError: naming the line that is missing or wrong.
    """
    try:
        client.register_opts(conf)
        connection = session.connect(
            conf, client.GROUP, service_type=client.SERVICE_TYPE
        )
    except cfg.Error as exc:
        # oslo.config tells where it keeps the value; that helps nobody.
        text = re.sub(r' from LocationInfo\(.*\) is not', ' is not', str(exc))
        raise exceptions.ConfigurationError(
            [f'[{client.GROUP}] {text}']
        ) from exc
    return _CLIENTS[method](connection, request_id=request_id)
