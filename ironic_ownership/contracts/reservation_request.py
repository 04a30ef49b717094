"""Requests for a node: the instance, and the requirements on the node.

The form is that of the specification: the fields of a flavor, and the image.
This module parses and validates it; the engine finds the nodes that match.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from ironic_ownership.contracts import exceptions, flavor_specs, model
from ironic_ownership.contracts import reservation_validation as values

AMOUNTS = ('memory_mb', 'vcpus', 'root_gb', 'ephemeral_gb', 'swap')
WITHOUT_EFFECT = ('vcpu_weight', 'rxtx_factor')
"""Fields of a flavor without a meaning on bare metal."""

KEYS = (
    'instance_uuid',
    'service',
    'resource_class',
    'traits',
    'forbidden_traits',
    *AMOUNTS,
    *WITHOUT_EFFECT,
    'extra_specs',
    'image',
    'node',
)


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
    def from_mapping(cls, data: object) -> Request:
        """Parse the JSON body of a request; ``null`` means not given.

        :raises RequestError: naming every fault, with its place.
        """
        faults = values.Faults()
        request = _read(data, faults)
        request.specs(faults)
        if faults.found:
            raise exceptions.RequestError(faults.found)
        return request

    def to_mapping(self) -> dict[str, Any]:
        """Return the input of :meth:`from_mapping`, without empty values."""
        data = {
            field.name: getattr(self, field.name)
            for field in dataclasses.fields(self)
            if not field.name.startswith('image_')
        }
        data['traits'] = list(self.traits)
        data['forbidden_traits'] = list(self.forbidden_traits)
        data['extra_specs'] = dict(self.extra_specs)
        image = {'id': self.image_id, 'properties': {**self.image_properties}}
        data['image'] = {k: v for k, v in image.items() if v}
        return {name: value for name, value in data.items() if value}

    def specs(
        self, faults: values.Faults | None = None
    ) -> flavor_specs.FlavorSpecs:
        """Return the requirements of the extra specs and the image.

        :param faults: collects faults; a validated request has none.
        """
        return flavor_specs.read(
            self.extra_specs,
            self.image_properties,
            values.Faults() if faults is None else faults,
        )


def _read(data: object, faults: values.Faults) -> Request:
    found = values.read_known(data, '', faults, KEYS)
    for name in ('instance_uuid', 'service'):
        if name not in found and isinstance(data, dict):
            faults.add(name, 'is missing')
    for name in WITHOUT_EFFECT:
        values.read_if_there(found, name, values.read_number, faults)
    image = values.read_known(
        found.get('image', {}), 'image', faults, ('id', 'properties')
    )

    def text(name: str) -> str | None:
        return values.read_if_there(found, name, values.read_text, faults)

    def traits(name: str) -> tuple[str, ...]:
        read = values.read_if_there(found, name, values.read_traits, faults)
        return read or ()

    return Request(
        instance_uuid=values.read_if_there(
            found, 'instance_uuid', values.read_uuid, faults
        )
        or '',
        service=model.canonical_host(text('service') or ''),
        resource_class=text('resource_class'),
        traits=traits('traits'),
        forbidden_traits=traits('forbidden_traits'),
        extra_specs=values.read_texts(
            found.get('extra_specs', {}), 'extra_specs', faults
        ),
        image_id=(
            values.read_text(image['id'], 'image.id', faults)
            if 'id' in image
            else None
        ),
        image_properties=values.read_texts(
            image.get('properties', {}), 'image.properties', faults
        ),
        node=text('node'),
        **{
            name: values.read_if_there(found, name, values.read_amount, faults)
            or 0
            for name in AMOUNTS
        },
    )
