"""The port to Placement: the provider of a node, which has the node's uuid.

Optional in a deployment. The owner of a node reports its inventory and its
traits; a provider is deleted only together with the record of its node.
"""

from __future__ import annotations

import abc
import dataclasses
from collections.abc import Callable, Iterable, Mapping

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


class Placement(abc.ABC):
    """The resource providers of the nodes.

    Threading: one thread at a time. Blocking: seconds to minutes, so never
    from the heartbeat thread. Failure: :class:`PlacementUnavailableError`
    where a retry may succeed, else :class:`PlacementError`. A provider is
    missing only when Placement answers so, never because of a failure.

    :ivar confirm: called before each request that creates or changes; an
        exception ends the write, so that a service which lost its right while
        it waited writes nothing.
    """

    def __init__(self) -> None:
        self.confirm: Callable[[], object] = lambda: None

    @abc.abstractmethod
    def has_provider(self, uuid: str) -> bool:
        """Tell whether the node has a provider."""

    @abc.abstractmethod
    def consumers(self, uuid: str) -> frozenset[str] | None:
        """Return the uuids of the consumers; ``None`` without a provider."""

    @abc.abstractmethod
    def put_provider(self, uuid: str, name: str) -> bool:
        """Create a provider, unless there is one with that uuid.

        An existing one stays as it is, under any name.

        :returns: whether it was created; it is then empty, with
            :data:`FIRST_GENERATION`.
        :raises PlacementRefusedError: if another provider has the name.
        """

    @abc.abstractmethod
    def delete_provider(self, uuid: str) -> bool:
        """Delete the provider of a node, with its inventory and traits.

        :returns: ``False`` if there was none.
        :raises ProviderInUseError: if it has allocations; then nothing was
            changed.
        """

    @abc.abstractmethod
    def inventory(self, uuid: str) -> Inventory | None:
        """Return the inventory of a node; ``None`` without a provider."""

    @abc.abstractmethod
    def put_inventory(
        self,
        uuid: str,
        resources: Mapping[str, Resource],
        *,
        generation: int | None = None,
    ) -> Inventory:
        """Make these the whole inventory of a node.

        Retries a few times with the new generation after a conflict with
        another writer. An equal inventory is not written again.

        :param generation: of the provider, if it is known; saves a request.
        :returns: the inventory as it is now.
        :raises ProviderBusyError: if the conflicts do not end.
        :raises ProviderInUseError: if a removed resource is allocated.
        :raises NoProviderError: if the node has no provider.
        """

    @abc.abstractmethod
    def traits(self, uuid: str) -> Traits | None:
        """Return the traits of a node; ``None`` without a provider."""

    @abc.abstractmethod
    def put_traits(
        self, uuid: str, names: Iterable[str], *, generation: int | None = None
    ) -> Traits:
        """Make these all the traits of a node; custom ones are created.

        Others with a prefix of :data:`KEPT` stay. Retries like
        :meth:`put_inventory`.

        :param generation: of the provider, if it is known; saves a request.
        :raises NoProviderError: if the node has no provider.
        :raises PlacementRefusedError: if a standard trait does not exist.
        """

    @abc.abstractmethod
    def disabled(self) -> frozenset[str]:
        """Return the uuids of all providers with :data:`DISABLED`."""

    @abc.abstractmethod
    def hidden_from_nova(self) -> frozenset[str]:
        """Return the uuids of all providers without :data:`OWNER_NOVA`.

        None of them, if no provider has it: Nova does not use it yet.
        """

    @abc.abstractmethod
    def put_disabled(self, uuid: str, disabled: bool) -> bool:
        """Add :data:`DISABLED` to the traits of a provider, or remove it.

        Retries like :meth:`put_inventory`.

        :returns: whether the provider was changed.
        :raises NoProviderError: if it does not exist.
        """
