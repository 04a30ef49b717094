"""Read the conductors of Ironic, if this service may see them.

Ironic may be too old, or its policy may show conductors to administrators
only. Availability is then evaluated without them.
"""

from __future__ import annotations

import dataclasses

from ironic_ownership.contracts import bare_metal, exceptions
from ironic_ownership.engine.availability import evaluation


@dataclasses.dataclass(frozen=True)
class Known:
    """The conductors, or the error of reading them."""

    conductors: evaluation.Conductors | None = None
    error: exceptions.IronicError | None = None


def read(ironic: bare_metal.BareMetal) -> Known:
    """Read the conductors, in one list."""
    try:
        return Known(
            evaluation.Conductors.of(
                ironic.conductors(), outage_counts=ironic.outage_counts
            )
        )
    except exceptions.IronicError as exc:
        return Known(error=exc)


def required(ironic: bare_metal.BareMetal) -> evaluation.Conductors | None:
    """Return the conductors; ``None`` if Ironic does not show them.

    :raises IronicUnavailableError: if it does not answer.
    """
    known = read(ironic)
    if isinstance(known.error, exceptions.IronicUnavailableError):
        raise known.error
    return known.conductors
