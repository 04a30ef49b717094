"""Writer of one node's provider, with as few requests as possible.

A refusal of one node is a result; only a failure that concerns every node is
an error. Stateless.
"""

from __future__ import annotations

import dataclasses

from ironic_ownership.contracts import exceptions
from ironic_ownership.contracts.placement import (
    FIRST_GENERATION,
    Confirm,
    Placement,
)
from ironic_ownership.engine.placement import inventory_diff

_REFUSALS = (
    exceptions.ProviderBusyError,
    exceptions.ProviderInUseError,
    exceptions.PlacementRefusedError,
    exceptions.NoProviderError,
)


@dataclasses.dataclass(frozen=True, slots=True)
class Result:
    """Result of one step.

    :param digest: of what Placement has accepted; ``None`` for nothing.
    :param refusal: the reason if that is not all of it.
    :param created: whether the provider is new.
    """

    digest: str | None
    refusal: exceptions.PlacementError | None = None
    created: bool = False


class ProviderWriter:
    """Writes providers, step by step.

    Threading: one thread at a time.

    :param confirm: called before each request that writes.
    """

    def __init__(self, placement: Placement, confirm: Confirm) -> None:
        self._placement = placement
        self._confirm = confirm

    def write(self, step: inventory_diff.Step) -> Result:
        """Bring the provider of a node up to date.

        :raises PlacementError: if Placement does not answer any request.
        :raises FencedError: if the right to write was lost.
        """
        try:
            return self._write(step)
        except exceptions.NoProviderError:
            # Deleted by another client, with its inventory and traits.
            step = dataclasses.replace(step, known=None)
        try:
            return self._write(step)
        except exceptions.NoProviderError as exc:
            return Result(None, exc)

    def _write(self, step: inventory_diff.Step) -> Result:
        uuid, wanted = step.uuid, step.wanted
        generation: int | None = None
        created = False
        inventory_part, traits_part = inventory_diff.parts(step.known)
        try:
            if step.known is None:
                created = self._placement.put_provider(
                    uuid, uuid, confirm=self._confirm
                )
                generation = FIRST_GENERATION if created else None
            if step.inventory:
                generation = self._placement.put_inventory(
                    uuid,
                    wanted.resources,
                    generation=generation,
                    confirm=self._confirm,
                ).generation
                inventory_part = wanted.inventory_part
            if step.traits:
                if wanted.traits or not created:
                    self._placement.put_traits(
                        uuid,
                        wanted.traits,
                        generation=generation if created else None,
                        confirm=self._confirm,
                    )
                traits_part = wanted.traits_part
        except exceptions.NoProviderError:
            raise
        except _REFUSALS as exc:
            return Result(
                inventory_diff.joined(inventory_part, traits_part),
                exc,
                created,
            )
        return Result(wanted.digest, created=created)

    def undo(self, uuid: str) -> None:
        """Delete a provider that was created for a record that is gone.

        :raises PlacementError: if Placement does not answer, or the provider
            is in use already.
        """
        self._placement.delete_provider(uuid)
