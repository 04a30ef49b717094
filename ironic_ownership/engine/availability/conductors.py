"""Ask Ironic who works on nodes, whether or not it tells.

A deployment may well do without: Ironic may be too old, or its policy may
show conductors to nobody but administrators. What is not known is not judged.
"""

from __future__ import annotations

import dataclasses

from ironic_ownership.contracts import exceptions, inventory
from ironic_ownership.engine.availability import evaluation


@dataclasses.dataclass(frozen=True)
class Known:
    """What is known of the conductors.

    :param fleet: ``None`` if nothing is.
    :param error: the reason, then.
    """

    fleet: evaluation.Fleet | None = None
    error: exceptions.IronicError | None = None


def ask(source: inventory.Inventory) -> Known:
    """Return who works on nodes, or why that is not known. One list."""
    try:
        return Known(evaluation.Fleet.of(source.conductors()))
    except exceptions.IronicError as exc:
        return Known(error=exc)
