"""The port to Placement: the provider of a node, which has the node's uuid.

Optional in a deployment. Whoever owns a node reports its inventory and its
traits here; a provider goes only when the record of its node goes, too.
"""

from __future__ import annotations

import abc
import dataclasses
from collections.abc import Callable, Iterable, Mapping

Confirm = Callable[[], object]
"""Called before each request that writes; what it raises ends the write, so
that nothing is written by whoever lost the right to while it waited."""

FIRST_GENERATION = 0
"""The generation of a provider that has just been created."""


@dataclasses.dataclass(frozen=True, slots=True)
class Resource:
    """How much of one resource class a provider has, in units of it.

    The fields are Placement's own.
    """

    total: int
    reserved: int = 0
    min_unit: int = 1
    max_unit: int = 1
    step_size: int = 1
    allocation_ratio: float = 1.0


@dataclasses.dataclass(frozen=True, slots=True)
class Inventory:
    """What a provider has, by resource class.

    :param generation: of the provider when it was asked.
    """

    generation: int
    resources: Mapping[str, Resource] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True, slots=True)
class Traits:
    """The traits of a provider.

    :param generation: of the provider when it was asked.
    """

    generation: int
    names: frozenset[str] = frozenset()


class Placement(abc.ABC):
    """The resource providers of the nodes.

    Threading: one thread at a time. Blocking: seconds to minutes, so never
    from the heartbeat thread. Failure: :class:`PlacementUnavailableError`
    for what may pass, :class:`PlacementError` for what will not. No failure
    is ever an answer: a provider is only missing when Placement says so.
    """

    @abc.abstractmethod
    def has_provider(self, uuid: str) -> bool:
        """Tell whether the node has a provider."""

    @abc.abstractmethod
    def consumers(self, uuid: str) -> frozenset[str] | None:
        """Return who holds allocations of the node's provider.

        :returns: uuids of the consumers; ``None`` if there is no provider.
        """

    @abc.abstractmethod
    def put_provider(
        self, uuid: str, name: str, *, confirm: Confirm | None = None
    ) -> bool:
        """Create a provider, unless there is one with that uuid.

        One that is there stays as it is, whatever its name.

        :returns: whether it was created; it then has nothing, and
            :data:`FIRST_GENERATION`.
        :raises PlacementRefusedError: if another provider has the name.
        """

    @abc.abstractmethod
    def delete_provider(self, uuid: str) -> bool:
        """Delete the provider of a node, with its inventory and traits.

        :returns: ``False`` if there was none.
        :raises ProviderInUseError: if anybody holds an allocation of it;
            then nothing was changed.
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
        confirm: Confirm | None = None,
    ) -> Inventory:
        """Make these the whole inventory of a node.

        Tried again with the new generation when another writer came
        between, a few times. An inventory that is there already is not
        written again.

        :param generation: of the provider, if it is known; saves a question.
        :returns: the inventory as it is now.
        :raises ProviderBusyError: if others come between all the time.
        :raises ProviderInUseError: if what would go is allocated.
        :raises NoProviderError: if the node has no provider.
        """

    @abc.abstractmethod
    def traits(self, uuid: str) -> Traits | None:
        """Return the traits of a node; ``None`` without a provider."""

    @abc.abstractmethod
    def put_traits(
        self,
        uuid: str,
        names: Iterable[str],
        *,
        generation: int | None = None,
        confirm: Confirm | None = None,
    ) -> Traits:
        """Make these all the traits of a node; custom ones are created.

        Tried again like :meth:`put_inventory`.

        :param generation: of the provider, if it is known; saves a question.
        :returns: the traits as they are now.
        :raises NoProviderError: if the node has no provider.
        :raises PlacementRefusedError: if a standard trait does not exist.
        """
