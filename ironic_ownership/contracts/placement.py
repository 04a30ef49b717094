"""Values of Placement: the provider of a node, which has the node's uuid.

Optional in a deployment. The owner of a node reports its inventory and its
traits; a provider is deleted only together with the record of its node.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

FIRST_GENERATION = 0
"""The generation of a provider that has just been created."""


DISABLED = 'COMPUTE_STATUS_DISABLED'
"""The trait of providers that Nova's scheduler does not choose."""


OWNER_NOVA = 'OWNER_NOVA'
"""The trait without which Nova chooses no provider, from release 34 on."""

KEPT = ('OWNER_', 'COMPUTE_')
"""Prefixes of traits that are not the node's."""


@dataclasses.dataclass(frozen=True, slots=True)
class Resource:
    """Amount of one resource class in a provider; Placement's fields."""

    total: int
    reserved: int = 0
    min_unit: int = 1
    max_unit: int = 1
    step_size: int = 1
    allocation_ratio: float = 1.0


@dataclasses.dataclass(frozen=True, slots=True)
class Inventory:
    """Resources of a provider, by resource class, at one generation of it."""

    generation: int
    resources: Mapping[str, Resource] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True, slots=True)
class Traits:
    """Traits of a provider, at one generation of it."""

    generation: int
    names: frozenset[str] = frozenset()
