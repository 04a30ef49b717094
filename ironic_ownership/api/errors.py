"""Errors of the operations, and what of an error programs receive."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Sized
from typing import Any, Protocol

from ironic_ownership.contracts import exceptions
from ironic_ownership.engine.gates import GateResult

NOTHING: Mapping[str, int] = {}
DETAILS: Mapping[str, tuple[str, ...]] = {
    'gates_failed': ('nodes', 'gates', 'evaluated'),
    'no_match': ('nodes', 'removed'),
    'out_of_service': ('uuid', 'driver', 'conductor_group', 'needed'),
    'reservation_unfinished': ('reservation_id',),
}
"""The attributes of an error that programs receive, by its code."""


class Refused(Protocol):
    """An item of a request, and the gates that refuse it."""

    @property
    def refused(self) -> Sequence[GateResult]:
        """Return the gates that failed."""


class GatesFailedError(exceptions.OwnershipError):
    """A gate refuses the operation, and nothing was changed.

    :param nodes: each node that is refused.
    :param gates: the gates of a service, or of all these nodes.
    :param evaluated: the number of nodes by destination, for moves.
    """

    code = 'gates_failed'

    def __init__(
        self,
        message: str,
        nodes: Sequence[Mapping[str, Any]] = (),
        *,
        gates: Sequence[Mapping[str, Any]] = (),
        evaluated: Mapping[str, int] = NOTHING,
        hint: str,
    ) -> None:
        self.nodes = nodes
        self.gates = gates
        self.evaluated = evaluated
        super().__init__(message, hint=hint)


def raise_if_all_refused(
    what: str,
    items: Sized,
    refused: Sequence[Refused],
    rows: Sequence[Mapping[str, Any]],
    gates: Sequence[Mapping[str, Any]] = (),
) -> None:
    """Report a request of which everything was refused as an error.

    :param what: the items, in the plural: ``'nodes'``.
    :param rows: what programs receive of each refused item.
    :raises GatesFailedError: if no item was changed because of its gates.
    """
    if len(refused) < len(items):
        return
    names = sorted({gate.gate for one in refused for gate in one.refused})
    raise GatesFailedError(
        f'{len(refused)} {what} are refused by a gate, nothing was changed: '
        f'{", ".join(names)}',
        rows,
        gates=gates,
        hint='Correct the causes; no gate can be overridden',
    )


class InvalidRequestError(exceptions.OwnershipError):
    """The client sent something that the operation does not take.

    :param faults: one sentence for each fault.
    """

    code = 'invalid_request'

    def __init__(self, faults: Sequence[str], *, hint: str = '') -> None:
        self.faults = tuple(faults)
        super().__init__('; '.join(self.faults), hint=hint)


class ScenarioError(exceptions.OwnershipError):
    """The situation that a preview or a comparison assumes cannot exist."""

    code = 'impossible_scenario'


def details_of(error: exceptions.OwnershipError) -> dict[str, Any]:
    """Return what of an error is for programs, local or remote."""
    sent: Mapping[str, Any] | None = getattr(error, 'details', None)
    if sent is not None:
        return dict(sent)
    return {name: getattr(error, name) for name in DETAILS.get(error.code, ())}
