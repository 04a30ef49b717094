"""Requirements of a request on the properties of a node.

Pure, and evaluated once for each set of properties, not for each node.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

from ironic_ownership.contracts import flavor_specs, reservation_request
from ironic_ownership.engine.reservations import capability_match

MB = 1024
"""MB in a GB."""

MEMORY, VCPUS, DISK = 'memory_mb', 'vcpus', 'disk_gb'
ARCHITECTURE = 'architecture'
CAPABILITY = 'capabilities:'

PROPERTIES = ('cpu_arch', 'cpus', 'local_gb', 'memory_mb')
"""Properties that can be requested like capabilities, as with Nova."""

_SAME_ARCHITECTURE = {'amd64': 'x86_64', 'arm64': 'aarch64', 'i386': 'i686'}


@dataclasses.dataclass(frozen=True, slots=True)
class Requirement:
    """One condition on the properties of a node.

    :param name: of the condition, as in the counts.
    :param fields: the properties that it reads.
    :param read: returns their value as text, or ``None``.
    :param fits: whether such a value fulfils the condition.
    """

    name: str
    fields: tuple[str, ...]
    read: Callable[[Mapping[str, Any]], str | None]
    fits: Callable[[str], bool]


def of(
    request: reservation_request.Request, specs: flavor_specs.FlavorSpecs
) -> list[Requirement]:
    """Return the requirements of a request, the cheapest first.

    A resource for Placement (``resources:MEMORY_MB``) replaces the flavor's
    field, as with Nova: 0 requires nothing.
    """
    memory = specs.amounts.get('memory_mb', request.memory_mb)
    vcpus = specs.amounts.get('vcpus', request.vcpus)
    found = [
        _at_least(MEMORY, 'memory_mb', memory),
        _at_least(VCPUS, 'cpus', vcpus),
        _at_least(DISK, 'local_gb', _disk_mb(request, specs) / MB),
        _architecture(specs.architecture),
    ]
    return [
        *(requirement for requirement in found if requirement is not None),
        *(_capability(name, spec) for name, spec in specs.capabilities),
    ]


def _disk_mb(
    request: reservation_request.Request, specs: flavor_specs.FlavorSpecs
) -> int:
    """Return the disk that a flavor needs in total, in MB."""
    if 'disk_gb' in specs.amounts:
        return specs.amounts['disk_gb'] * MB
    return (request.root_gb + request.ephemeral_gb) * MB + request.swap


def _at_least(name: str, field: str, least: float) -> Requirement | None:
    if not least:
        return None
    return Requirement(
        name,
        (field,),
        lambda properties: _text(properties.get(field)),
        lambda text: _number(text) >= least,
    )


def _architecture(wanted: str | None) -> Requirement | None:
    if wanted is None:
        return None
    canonical = _canonical_architecture(wanted)
    return Requirement(
        ARCHITECTURE,
        ('cpu_arch',),
        lambda properties: _text(properties.get('cpu_arch')),
        lambda text: _canonical_architecture(text) == canonical,
    )


def _capability(name: str, spec: str) -> Requirement:
    own = (name,) if name in PROPERTIES else ()

    def read(properties: Mapping[str, Any]) -> str | None:
        found = capability_match.parse(
            _text(properties.get('capabilities')) or ''
        )
        if name in found or not own:
            return found.get(name)
        return _text(properties.get(name))

    return Requirement(
        CAPABILITY + name,
        ('capabilities', *own),
        read,
        capability_match.test_of(spec),
    )


def _text(value: object) -> str | None:
    """Return a property as text, the same for equal values."""
    if isinstance(value, bool) or (
        isinstance(value, float) and value.is_integer()
    ):
        return str(int(value))
    return value if isinstance(value, str) or value is None else str(value)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return float('nan')  # not enough of anything


def _canonical_architecture(text: str) -> str:
    name = text.strip().lower()
    return _SAME_ARCHITECTURE.get(name, name)
