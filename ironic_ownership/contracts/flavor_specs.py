"""Requirements in a flavor's extra specs and an image's properties.

Reads Nova's own spelling: ``trait:NAME``, ``resources:CLASS``,
``capabilities:NAME`` and the text ``capabilities``. Others, such as
``hw:cpu_policy``, are not about bare metal and are ignored.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Mapping

from ironic_ownership.contracts import exceptions

AMOUNTS = {'VCPU': 'vcpus', 'MEMORY_MB': 'memory_mb', 'DISK_GB': 'disk_gb'}
"""Standard resource classes that override fields of the flavor."""

PRESENT = ''
"""Specification of a capability that only has to be present."""

TRAIT = '[A-Z0-9_]{1,255}'
"""Pattern of the name of a trait."""

_KEY = re.compile(r'(trait|resources)[0-9A-Za-z_-]*:(.+)', re.DOTALL)
_ARCHITECTURES = ('hw_architecture', 'architecture')


@dataclasses.dataclass(frozen=True, slots=True)
class FlavorSpecs:
    """Requirements on a node, in Ironic's terms.

    :param resource_class: as Placement knows it, such as ``CUSTOM_GOLD``.
    :param amounts: replacements of the flavor's amounts: of ``vcpus``,
        ``memory_mb`` (MB) and ``disk_gb`` (GB).
    :param capabilities: name and required value of each, in the language of
        ``oslo_utils.specs_matcher``; :data:`PRESENT` accepts any value.
    :param architecture: of the processor; ``None`` for any.
    """

    resource_class: str | None = None
    traits: frozenset[str] = frozenset()
    forbidden_traits: frozenset[str] = frozenset()
    amounts: Mapping[str, int] = dataclasses.field(default_factory=dict)
    capabilities: tuple[tuple[str, str], ...] = ()
    architecture: str | None = None


def normalised(resource_class: str) -> str:
    """Return the name that Nova gives an Ironic resource class in Placement.

    Source: multiple-compute-hosts, and Nova's Ironic driver.
    """
    return 'CUSTOM_' + re.sub('[^0-9A-Za-z]+', '_', resource_class).upper()


def read(
    extra_specs: Mapping[str, str], image_properties: Mapping[str, str]
) -> FlavorSpecs:
    """Parse both.

    :raises RequestError: naming every fault, with its place.
    """
    reading = _Reading()
    for name, value in extra_specs.items():
        reading.read(name, value, f'extra_specs.{name}')
    for name, value in image_properties.items():
        where = f'image.properties.{name}'
        if name.startswith('resources'):
            reading.faults.append(f'{where}: only a flavor asks for resources')
        reading.read(name, value, where)
    if reading.faults:
        raise exceptions.RequestError(reading.faults)
    stated = (image_properties.get(name) for name in _ARCHITECTURES)
    return FlavorSpecs(
        resource_class=next(iter(reading.classes), None),
        traits=frozenset(reading.traits['required']),
        forbidden_traits=frozenset(reading.traits['forbidden']),
        amounts=reading.amounts,
        capabilities=tuple(dict.fromkeys(reading.capabilities)),
        architecture=next(filter(None, stated), None),
    )


class _Reading:
    def __init__(self) -> None:
        self.faults: list[str] = []
        self.traits = {one: set[str]() for one in ('required', 'forbidden')}
        self.classes: set[str] = set()
        self.amounts: dict[str, int] = {}
        self.capabilities: list[tuple[str, str]] = []

    def read(self, name: str, value: str, where: str) -> None:
        found = _KEY.fullmatch(name)
        try:
            if found and found[1] == 'trait':
                self._trait(found[2], value.strip())
            elif found:
                self._resource(found[2], value)
            elif name == 'capabilities':
                self.capabilities += _listed(value)
            elif name.startswith('capabilities:'):
                _, _, capability = name.partition(':')
                self.capabilities.append((capability, value))
        except ValueError as exc:
            self.faults.append(f'{where}: {exc}')

    def _trait(self, name: str, value: str) -> None:
        if value not in self.traits:
            raise ValueError(f'{value!r} is neither required nor forbidden')
        if not re.fullmatch(TRAIT, name):
            raise ValueError(f'{name!r} is not a trait')
        self.traits[value].add(name)

    def _resource(self, name: str, value: str) -> None:
        if not re.fullmatch('[0-9]{0,9}', value):
            raise ValueError(f'{value!r} is not a whole number')
        amount = int(value or 0)
        if name in AMOUNTS:
            self.amounts[AMOUNTS[name]] = amount
        elif amount:
            if not name.startswith('CUSTOM_'):
                raise ValueError(f'a bare-metal node has no {name}')
            if amount > 1:
                raise ValueError(f'a node is one {name} and not {amount}')
            if self.classes - {name}:
                raise ValueError('a node has one resource class, not two')
            self.classes.add(name)


def _listed(text: str) -> Iterator[tuple[str, str]]:
    for item in text.split(','):  # "a,b:value", the text form
        name, colon, value = item.strip().partition(':')
        if name:
            yield name, value.strip() if colon else PRESENT
