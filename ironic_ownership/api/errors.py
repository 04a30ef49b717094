"""Refusals by gates, as the operations report them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Sized
from typing import Any, Protocol

from ironic_ownership.contracts import refusals
from ironic_ownership.engine.gates import GateResult


class Refused(Protocol):
    """An item of a request, and the gates that refuse it."""

    @property
    def refused(self) -> Sequence[GateResult]:
        """Return the gates that failed."""


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
    raise refusals.GatesFailedError(
        f'{len(refused)} {what} are refused by a gate, nothing was changed: '
        f'{", ".join(names)}',
        rows,
        gates=gates,
        hint='Correct the causes; no gate can be overridden',
    )
