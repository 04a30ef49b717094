"""One examination: read everything once, the cell twice, then evaluate."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

from ironic_ownership.contracts import exceptions, model
from ironic_ownership.contracts.texts import counted
from ironic_ownership_nova.cell.check import Finding
from ironic_ownership_nova.cell.model import CellSnapshot
from ironic_ownership_nova.doctor import findings
from ironic_ownership_nova.doctor.snapshot import Snapshot, changed

T = TypeVar('T')


@dataclasses.dataclass(frozen=True)
class Sources:
    """The readers; each raises an error where nothing can be read.

    :param cells: by a name for people.
    """

    cells: Mapping[str, Callable[[], CellSnapshot]]
    ironic: Callable[[], Mapping[str, model.Node]]
    placement: Callable[[], Mapping[str, str]]


@dataclasses.dataclass(frozen=True)
class Examination:
    """The result.

    :param read: one line for each source that was read.
    :param skipped: one line for each that was not.
    """

    findings: Sequence[Finding]
    read: Sequence[str]
    skipped: Sequence[str]


def examine(
    sources: Sources, say: Callable[[str], object] = str
) -> Examination:
    """Read all sources and return the findings.

    Without Ironic or Placement the findings that need them are left out. The
    cell is read before and after them, so that what Nova changes meanwhile
    is not taken for a fault.

    :param say: receives each line as soon as it is known.
    :raises OwnershipError: if a cell cannot be read.
    """
    lines: list[str] = []
    skipped: list[str] = []

    def note(line: str) -> None:
        lines.append(line)
        say(line)

    def attempt(name: str, read: Callable[[], T]) -> T | None:
        try:
            return read()
        except exceptions.OwnershipError as exc:
            skipped.append(
                f'{name} was not read, and nothing is compared with it: {exc}'
            )
            say(skipped[-1])
            return None

    first = {name: read() for name, read in sources.cells.items()}
    for name, cell in first.items():
        note(
            f'cell {name}: {counted(len(cell.services), "service")}, '
            f'{counted(len(cell.nodes), "row")} of Ironic, '
            f'{counted(len(cell.instances), "instance")}'
        )
    nodes = attempt('Ironic', sources.ironic)
    if nodes is not None:
        note(f'Ironic: {counted(len(nodes), "node")}')
    providers = attempt('Placement', sources.placement)
    if providers is not None:
        note(f'Placement: {counted(len(providers), "provider")}')
    before = _together(first.values())
    cell = before
    if nodes is not None or providers is not None:
        cell = _together(read() for read in sources.cells.values())
    seen = Snapshot(cell, nodes, providers, changed(before, cell))
    return Examination(findings.of_snapshot(seen), lines, skipped)


def _together(cells: Iterable[CellSnapshot]) -> CellSnapshot:
    every = [*cells]
    return CellSnapshot(
        [one for cell in every for one in cell.services],
        [one for cell in every for one in cell.nodes],
        [one for cell in every for one in cell.instances],
    )
