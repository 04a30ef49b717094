"""Standing order of an operator for the deployed nodes of a service."""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True, slots=True)
class StandingOrder:
    """An operator's order to take deployed nodes over from a service.

    :param after: seconds for which the service has to be fenced before.
    :param to: canonical name of the service that gets the nodes; ``None``
        leaves that to their policies.
    """

    after: int
    actor: str
    reason: str
    to: str | None = None
