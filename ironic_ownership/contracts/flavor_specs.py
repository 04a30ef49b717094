"""Requirements in a flavor's extra specs and an image's properties.

Reads Nova's own spelling: ``trait:NAME``, ``resources:CLASS``,
``capabilities:NAME`` and the text ``capabilities``. Others, such as
``hw:cpu_policy``, are not about bare metal and are ignored.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping

from ironic_ownership.contracts import reservation_validation as values

AMOUNTS = {'VCPU': 'vcpus', 'MEMORY_MB': 'memory_mb', 'DISK_GB': 'disk_gb'}
"""Standard resource classes that override fields of the flavor."""

PRESENT = ''
"""Specification of a capability that only has to be present."""

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
    extra_specs: Mapping[str, str],
    image_properties: Mapping[str, str],
    faults: values.Faults,
) -> FlavorSpecs:
    """Parse both; add what is invalid to the faults."""
    reading = _Reading(faults)
    for name, value in extra_specs.items():
        reading.read(name, value, f'extra_specs.{name}')
    for name, value in image_properties.items():
        reading.read(name, value, f'image.properties.{name}')
        if name.startswith('resources'):
            faults.add(
                f'image.properties.{name}', 'only a flavor asks for resources'
            )
    stated = (image_properties.get(name) for name in _ARCHITECTURES)
    return reading.result(next(filter(None, stated), None))


class _Reading:
    def __init__(self, faults: values.Faults) -> None:
        self._faults = faults
        self._traits: dict[str, set[str]] = {
            'required': set(),
            'forbidden': set(),
        }
        self._classes: set[str] = set()
        self._amounts: dict[str, int] = {}
        self._capabilities: list[tuple[str, str]] = []

    def read(self, name: str, value: str, where: str) -> None:
        found = _KEY.fullmatch(name)
        if found and found[1] == 'trait':
            self._trait(found[2], value.strip(), where)
        elif found:
            self._resource(found[2], value, where)
        elif name == 'capabilities':
            self._capabilities += _listed(value)
        elif name.startswith('capabilities:'):
            _, _, capability = name.partition(':')
            self._capabilities.append((capability, value))

    def result(self, architecture: str | None) -> FlavorSpecs:
        return FlavorSpecs(
            resource_class=next(iter(sorted(self._classes)), None),
            traits=frozenset(self._traits['required']),
            forbidden_traits=frozenset(self._traits['forbidden']),
            amounts=self._amounts,
            capabilities=tuple(dict.fromkeys(self._capabilities)),
            architecture=architecture,
        )

    def _trait(self, name: str, value: str, where: str) -> None:
        if value not in self._traits:
            self._faults.add(
                where,
                f'{values.shown(value)} is neither required nor forbidden',
            )
        elif not values.TRAIT.fullmatch(name):
            self._faults.add(where, f'{values.shown(name)} is not a trait')
        else:
            self._traits[value].add(name)

    def _resource(self, name: str, value: str, where: str) -> None:
        amount = values.read_amount(value, where, self._faults)
        if name in AMOUNTS:
            self._amounts[AMOUNTS[name]] = amount
        elif not amount:
            return
        elif not name.startswith('CUSTOM_'):
            self._faults.add(where, f'a bare-metal node has no {name}')
        elif amount > 1:
            self._faults.add(where, f'a node is one {name} and not {amount}')
        elif self._classes - {name}:
            self._faults.add(where, 'a node has one resource class, not two')
        else:
            self._classes.add(name)


def _listed(text: str) -> list[tuple[str, str]]:
    listed = []  # of "a,b:value", the text form
    for item in text.split(','):
        name, colon, value = item.strip().partition(':')
        if name:
            listed.append((name, value.strip() if colon else PRESENT))
    return listed
