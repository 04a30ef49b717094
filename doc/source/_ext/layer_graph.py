"""The layers of import-linter's contracts, and the imports between them.

Reads ``pyproject.toml`` and the source, and draws nothing.
"""

from __future__ import annotations

import dataclasses
import itertools
import pathlib
import re
import tomllib
from collections.abc import Collection, Iterable, Mapping

import grimp

Edge = tuple[str, str]
"""The importing room, and the imported one."""

_ROOM = re.compile(r'[a-z_]+')


@dataclasses.dataclass(frozen=True)
class LayerGraph:
    """Rooms in rows, and their imports.

    :param container: the package that contains the rooms.
    :param rows: rooms by layer, the highest first; only those that exist.
    :param imports: the number of importing modules for each edge.
    """

    container: str
    rows: tuple[tuple[str, ...], ...]
    imports: Mapping[Edge, int]

    @property
    def rooms(self) -> tuple[str, ...]:
        """All rooms, row by row."""
        return tuple(itertools.chain.from_iterable(self.rows))

    def imported_by(self, room: str) -> tuple[str, ...]:
        """Return the rooms that a room imports, in the order of the rows."""
        return tuple(to for to in self.rooms if (room, to) in self.imports)

    def direct(self) -> frozenset[Edge]:
        """Return the edges that do not follow from longer paths."""
        return frozenset(
            (room, to)
            for room, to in self.imports
            if not any(
                to in self._reachable(other)
                for other in self.imported_by(room)
                if other != to
            )
        )

    def _reachable(self, room: str) -> set[str]:
        found: set[str] = set()
        new = {room}
        while new:
            found |= new
            new = {to for one in new for to in self.imported_by(one)} - found
        return found


def read(pyproject: pathlib.Path, contract: str) -> LayerGraph:
    """Read one contract of the type ``layers``, and the real imports.

    :param contract: its ``id``.
    :raises LookupError: if there is no such contract.
    """
    settings = tomllib.loads(pyproject.read_text())['tool']['importlinter']
    chosen = next(
        (c for c in settings['contracts'] if c.get('id') == contract), None
    )
    if chosen is None or chosen['type'] != 'layers':
        raise LookupError(f'{pyproject} has no layers named {contract!r}')
    (container,) = chosen['containers']
    graph = grimp.build_graph(
        settings['root_package'],
        exclude_type_checking_imports=True,
        cache_dir=None,
    )
    return LayerGraph(
        container,
        rows(chosen['layers'], graph.find_children(container)),
        imports(graph, container),
    )


def rows(
    layers: Iterable[str], modules: Collection[str]
) -> tuple[tuple[str, ...], ...]:
    """Return the rooms of each layer that exist.

    :param layers: as in the contract: ``(cli) | (web)``.
    :param modules: full names of the rooms in the source.
    """
    present = {module.rpartition('.')[2] for module in modules}
    found = (
        tuple(room for room in _ROOM.findall(layer) if room in present)
        for layer in layers
    )
    return tuple(row for row in found if row)


def imports(graph: grimp.ImportGraph, container: str) -> dict[Edge, int]:
    """Count the modules of each room that import from each other room."""
    found: dict[Edge, int] = {}
    for module in graph.modules:
        room = _room(module, container)
        targets = {
            _room(imported, container)
            for imported in graph.find_modules_directly_imported_by(module)
        }
        for target in targets - {room, None}:
            if room is not None and target is not None:
                found[room, target] = found.get((room, target), 0) + 1
    return found


def _room(module: str, container: str) -> str | None:
    prefix = f'{container}.'
    if not module.startswith(prefix):
        return None
    return module.removeprefix(prefix).partition('.')[0]
