"""Reservations: the request for a node, and the reservation on record.

The form of a request is that of the specification: the fields of a flavor, and
the image. ``api.resources.reservations`` has its JSON Schema.

A reservation is on record before the request to Ironic, so that a process
that finds one without the other can repair it. Allocations are Ironic's own
reservations: it arbitrates between services on different machines, and gives a
node to one instance only.
"""

from __future__ import annotations

import dataclasses
import enum
import uuid
from collections.abc import Mapping
from typing import Any

from ironic_ownership.contracts import flavor_specs, model

AMOUNTS = ('memory_mb', 'vcpus', 'root_gb', 'ephemeral_gb', 'swap')


@dataclasses.dataclass(frozen=True, slots=True)
class Request:
    """A request for a node; only the first two fields are required.

    Source: multiple-compute-hosts, "Proposed change": at a minimum all
    fields of the flavor. Requests of the same meaning are equal.

    :param service: canonical name of the service that is to own the node.
    :param resource_class: Ironic's name of it, exactly.
    :param memory_mb: here and below 0 means no requirement.
    :param ephemeral_gb: in addition to ``root_gb``.
    :param swap: in MB, as in a flavor, in addition.
    :param image_id: kept, but nothing depends on it.
    :param node: uuid or name of the only acceptable node.
    """

    instance_uuid: str
    service: str
    resource_class: str | None = None
    traits: tuple[str, ...] = ()
    forbidden_traits: tuple[str, ...] = ()
    memory_mb: int = 0
    vcpus: int = 0
    root_gb: int = 0
    ephemeral_gb: int = 0
    swap: int = 0
    extra_specs: Mapping[str, str] = dataclasses.field(default_factory=dict)
    image_id: str | None = None
    image_properties: Mapping[str, str] = dataclasses.field(
        default_factory=dict
    )
    node: str | None = None

    @classmethod
    def from_mapping(cls, data: Mapping[str, Any]) -> Request:
        """Return the request of a JSON body; ``null`` means not given.

        :param data: valid by the schema; other keys are ignored.
        :raises RequestError: naming every fault of the extra specs and of the
            image, with its place.
        """
        image = data.get('image') or {}

        def text(value: str | None) -> str | None:
            return (value or '').strip() or None

        def texts(values: Mapping[str, Any] | None) -> dict[str, str]:
            return {name: str(one) for name, one in (values or {}).items()}

        request = cls(
            instance_uuid=str(uuid.UUID(data['instance_uuid'])),
            service=model.canonical_host(data['service']),
            resource_class=text(data.get('resource_class')),
            traits=tuple(sorted({*(data.get('traits') or ())})),
            forbidden_traits=tuple(
                sorted({*(data.get('forbidden_traits') or ())})
            ),
            extra_specs=texts(data.get('extra_specs')),
            image_id=text(image.get('id')),
            image_properties=texts(image.get('properties')),
            node=text(data.get('node')),
            **{name: int(data.get(name) or 0) for name in AMOUNTS},
        )
        request.specs()
        return request

    def to_mapping(self) -> dict[str, Any]:
        """Return the input of :meth:`from_mapping`, without empty values."""
        data = dataclasses.asdict(self)
        image = {
            'id': data.pop('image_id'),
            'properties': data.pop('image_properties'),
        }
        data['image'] = {name: value for name, value in image.items() if value}
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in data.items()
            if value
        }

    def specs(self) -> flavor_specs.FlavorSpecs:
        """Return the requirements of the extra specs and the image."""
        return flavor_specs.read(self.extra_specs, self.image_properties)


class ReservationState(enum.StrEnum):
    """Life cycle of a reservation."""

    PENDING = 'pending'
    """Wanted: Ironic may have reserved a node for it, or not yet."""

    ACTIVE = 'active'
    """The node is reserved, the service owns it, the instance is open."""

    DELETING = 'deleting'
    """Not wanted any more: Ironic may still hold the node, or not."""

    CLOSED = 'closed'
    """Finished; kept as history, and does not block another one."""


METHOD = 'allocation'
"""Means of reserving a node in Ironic: an allocation with the instance's uuid.
Earlier releases also had ``instance_uuid``: only that field of the node."""

OPEN = frozenset(ReservationState) - {ReservationState.CLOSED}
"""States of which an instance has one reservation at most."""


@dataclasses.dataclass(frozen=True, slots=True)
class Reservation:
    """A node that is held, was held, or is to be held for an instance.

    :param host: canonical name of the service that is to own the node.
    :param created_at: here and below seconds since the epoch, by the
        database's clock.
    :param expires_at: a confirmed one never does.
    :param confirmed: whether the node is in use, as observed or as a client
        stated.
    :param detail: explanation of its state.
    :param creator: actor of the request; ``None`` if a process made it to
        clean up, or a release that did not record it.
    """

    id: str
    instance_uuid: str
    host: str
    request: Request
    method: str = METHOD
    state: ReservationState = ReservationState.PENDING
    node_uuid: str | None = None
    created_at: float | None = None
    updated_at: float | None = None
    expires_at: float | None = None
    confirmed: bool = False
    detail: str | None = None
    creator: str | None = None

    def is_of(self, actor: str) -> bool:
        """Tell whether an actor made it, or may have."""
        return self.creator in (None, actor)


MARKER = 'ironic_ownership'
"""Key of the service's name in Ironic's ``extra``."""


class AllocationState(enum.StrEnum):
    """State of an allocation in Ironic."""

    ALLOCATING = 'allocating'
    """Ironic is still searching for a node."""

    ACTIVE = 'active'
    """The node is the instance's."""

    ERROR = 'error'
    """None of the nodes was available; ``last_error`` has the reason."""


@dataclasses.dataclass(frozen=True, slots=True)
class Allocation:
    """A reservation as Ironic has it.

    :param owner: canonical name of the service for which this project made
        it; ``None`` if another client did.
    """

    instance_uuid: str
    state: AllocationState
    node_uuid: str | None = None
    owner: str | None = None
    last_error: str | None = None
