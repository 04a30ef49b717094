"""A planned switch: which standby takes over, and whether it has by now.

The records name the process that is to be active; it notices by itself.
"""

from __future__ import annotations

import dataclasses
import enum
import time
from collections.abc import Callable, Iterable

from ironic_ownership.contracts import model
from ironic_ownership.contracts.records import Records

PATIENCE = 30.0
"""Seconds after which a standby that says nothing is not waited for."""

_PAUSE = 0.05


class Gate(enum.StrEnum):
    """One named check; the codes are stable."""

    KNOWN = 'service_known'
    """The service has a row."""

    NOT_FORCED_DOWN = 'not_forced_down'
    """The service may act at all."""

    STANDBY_ALIVE = 'standby_alive'
    """The membership sees the process that is to take over, or, if none is
    named, exactly one that could."""


@dataclasses.dataclass(frozen=True)
class Switch:
    """What is to be done.

    :param active: incarnation of the process that is active on record.
    :param target: of the one that is to take over; ``None`` if there is
        none, or it is not clear which.
    :param refused: the gates that are not passed, and why.
    """

    service: model.Service
    active: str | None
    target: str | None
    refused: tuple[tuple[Gate, str], ...] = ()


def plan(
    host: str,
    services: Iterable[model.Service],
    view: model.View,
    wanted: str | None = None,
) -> Switch:
    """Choose the process that takes over.

    :param view: all processes.
    :param wanted: the incarnation that is to take over, or how it begins;
        without it there has to be one standby only.
    """
    row = next((row for row in services if row.host == host), None)
    if row is None:
        gate = Gate.KNOWN, f'{host} has never registered'
        return Switch(model.Service(host), None, None, (gate,))
    refused = []
    if row.forced_down:
        refused.append((Gate.NOT_FORCED_DOWN, f'{host} is forced down'))
    active = row.incarnation
    standbys = sorted(view.incarnations(host) - {active})
    chosen = [s for s in standbys if s.startswith(wanted or '')]
    if len(chosen) != 1:
        why = _why(host, standbys, chosen, wanted)
        refused.append((Gate.STANDBY_ALIVE, why))
    target = chosen[0] if len(chosen) == 1 else None
    return Switch(row, active, target, tuple(refused))


def _why(
    host: str, standbys: list[str], chosen: list[str], wanted: str | None
) -> str:
    if not standbys:
        return f'no process stands by for {host}'
    listed = ', '.join(chosen or standbys)
    if wanted and not chosen:
        return (
            f'{wanted} is no live process that stands by for {host}; these '
            f'do: {listed}'
        )
    return f'{len(chosen)} processes could take over: {listed}'


def wait(
    switch: Switch,
    records: Records,
    *,
    patience: float = PATIENCE,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> model.Service:
    """Wait until a process of the service has registered.

    :param switch: one that was carried out.
    :returns: the service; still ``fenced`` if none has, and with another
        incarnation if the one that was named died meanwhile.
    :raises RecordsError: if the records do not answer.
    """
    until = clock() + patience
    host = switch.service.host
    while True:
        row = next(s for s in records.services() if s.host == host)
        if not row.fenced or clock() >= until:
            return row
        sleep(_PAUSE)
