"""Directive that draws the layers of the package as they are in the code.

Usage: ``.. layer-picture:: CONTRACT``, the ``id`` of a contract of
import-linter in ``pyproject.toml``. The rows come from the contract and the
arrows from the imports, so the picture changes with the code. A table with
every import follows it, for readers and formats without pictures.
"""

from __future__ import annotations

import dataclasses
import itertools
import pathlib
from collections.abc import Iterator
from typing import Any, ClassVar
from xml.sax.saxutils import escape

import layer_graph
from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

_PYPROJECT = pathlib.Path(__file__).parents[3] / 'pyproject.toml'

_WIDTH = 760
_BOX_HEIGHT = 30
_ROW_HEIGHT = 78
_LANE = 14
_CHARACTER = 8.2
_SWEEPS = 8

_STYLE = """\
.layers rect {fill: #eef3f8; stroke: #2a4e68}
.layers text {font: 13px monospace; text-anchor: middle; fill: #1b2f3f}
.layers .edge {fill: none; stroke: #5d7f9a; stroke-width: 1.2}
.layers .sibling {stroke-dasharray: 4 3}
.layers .tip {fill: #5d7f9a}
"""


@dataclasses.dataclass
class _Slot:
    """A place in a row: a room, or a lane past the row to a lower room."""

    name: str
    lane: bool
    x: float = 0.0

    @property
    def width(self) -> float:
        """The width in pixels."""
        return _LANE if self.lane else len(self.name) * _CHARACTER + 22


class Layout:
    """Rooms and lanes, with their places in the picture.

    All arrows to one room share a lane past each row between.
    """

    def __init__(self, graph: layer_graph.LayerGraph) -> None:
        self._row_of = {
            room: number
            for number, row in enumerate(graph.rows)
            for room in row
        }
        self.edges = sorted(graph.direct())
        self.rows = [
            [_Slot(room, False) for room in row] for row in graph.rows
        ]
        for room, to in self.edges:
            for number in range(self._row_of[room] + 1, self._row_of[to]):
                if self._lane(number, to) is None:
                    self.rows[number].append(_Slot(to, lane=True))
        self._arrange()

    def path(self, room: str, to: str) -> list[tuple[float, float]]:
        """Return the points of an arrow; two of one row are siblings."""
        first, last = self._row_of[room], self._row_of[to]
        points = [(self._box(room).x, _top(first) + _BOX_HEIGHT)]
        for number in range(first + 1, last):
            lane = self._lane(number, to)
            if lane is not None:
                points += [
                    (lane.x, _top(number)),
                    (lane.x, _top(number) + _BOX_HEIGHT),
                ]
        below = _BOX_HEIGHT if first == last else 0
        return [*points, (self._box(to).x, _top(last) + below)]

    def _box(self, room: str) -> _Slot:
        row = self.rows[self._row_of[room]]
        return next(s for s in row if s.name == room and not s.lane)

    def _lane(self, number: int, room: str) -> _Slot | None:
        row = self.rows[number]
        return next((s for s in row if s.lane and s.name == room), None)

    def _arrange(self) -> None:
        """Order each row by the places of its neighbours, and centre it."""
        for row in self.rows:
            _centre(row)
        for sweep in range(_SWEEPS):
            order = range(len(self.rows))
            for number in order if sweep % 2 == 0 else reversed(order):
                row = self.rows[number]
                wishes = {id(s): self._wish(number, s) for s in row}
                row.sort(key=lambda slot: wishes[id(slot)])
                _centre(row)

    def _wish(self, number: int, slot: _Slot) -> float:
        """Return the mean place of what a slot is connected to."""
        near = []
        for room, to in self.edges:
            first, last = self._row_of[room], self._row_of[to]
            places = [(first, self._box(room))]
            for between in range(first + 1, last):
                lane = self._lane(between, to)
                if lane is not None:
                    places.append((between, lane))
            places.append((last, self._box(to)))
            for position, (at, place) in enumerate(places):
                if at == number and place is slot:
                    around = places[max(position - 1, 0) : position + 2]
                    near += [p.x for _, p in around if p is not slot]
        return sum(near) / len(near) if near else slot.x


def _centre(row: list[_Slot]) -> None:
    free = _WIDTH - sum(slot.width for slot in row)
    gap = free / (len(row) + 1)
    x = gap
    for slot in row:
        slot.x = x + slot.width / 2
        x += slot.width + gap


def _top(number: int) -> float:
    return 6 + number * _ROW_HEIGHT


def svg(graph: layer_graph.LayerGraph) -> str:
    """Return the picture as an SVG element."""
    return '\n'.join(_elements(graph, Layout(graph)))


def _elements(graph: layer_graph.LayerGraph, layout: Layout) -> Iterator[str]:
    tip = f'tip-{graph.container}'
    height = _top(len(graph.rows) - 1) + _BOX_HEIGHT + 20
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="layers" role="img" '
        f'viewBox="0 0 {_WIDTH} {height:g}" style="max-width:{_WIDTH}px">'
    )
    yield f'<title>Layers of {escape(graph.container)}</title>'
    yield f'<style>{_STYLE}</style>'
    yield (
        f'<defs><marker id="{tip}" viewBox="0 0 10 10" refX="9" '
        'refY="5" markerWidth="7" markerHeight="7" orient="auto">'
        '<path class="tip" d="M0,0 L10,5 L0,10 z"/></marker></defs>'
    )
    for room, to in layout.edges:
        points = layout.path(room, to)
        kind = 'edge sibling' if points[0][1] == points[-1][1] else 'edge'
        yield (
            f'<path class="{kind}" data-edge="{room} {to}" '
            f'marker-end="url(#{tip})" d="{_line(points)}"/>'
        )
    for number, row in enumerate(layout.rows):
        for slot in row:
            if not slot.lane:
                yield _box(graph, slot, _top(number))
    yield '</svg>'


def _box(graph: layer_graph.LayerGraph, slot: _Slot, top: float) -> str:
    imported = ', '.join(graph.imported_by(slot.name)) or 'none of these'
    return (
        f'<g data-room="{slot.name}"><title>imports {imported}</title>'
        f'<rect x="{slot.x - slot.width / 2:.1f}" y="{top:g}" rx="4" '
        f'width="{slot.width:.1f}" height="{_BOX_HEIGHT}"/>'
        f'<text x="{slot.x:.1f}" y="{top + 20:g}">{slot.name}</text></g>'
    )


def _line(points: list[tuple[float, float]]) -> str:
    drawn = f'M{points[0][0]:.1f},{points[0][1]:g}'
    for (x, y), (next_x, next_y) in itertools.pairwise(points):
        bend = (next_y - y) / 2 or 24
        drawn += (
            f' C{x:.1f},{y + bend:g} {next_x:.1f},'
            f'{next_y - bend if next_y != y else y + bend:g} '
            f'{next_x:.1f},{next_y:g}'
        )
    return drawn


def table(graph: layer_graph.LayerGraph) -> Iterator[str]:
    """Yield the lines of a table with every import of every room."""
    yield '.. list-table::'
    yield '   :header-rows: 1'
    yield '   :widths: 20 80'
    yield ''
    yield '   * - Imported by'
    yield '     - Rooms, each with the number of importing modules'
    for room in graph.rooms:
        shown = ', '.join(
            f'``{to}`` ({graph.imports[room, to]})'
            for to in graph.imported_by(room)
        )
        yield f'   * - ``{room}``'
        yield f'     - {shown or "none"}'
    yield ''


class LayerPicture(SphinxDirective):
    """The picture of one contract, and its table."""

    required_arguments: ClassVar[int] = 1
    option_spec: ClassVar[dict[str, Any]] = {'no-table': bool}

    def run(self) -> list[nodes.Node]:
        """Return the picture and the table."""
        try:
            graph = layer_graph.read(_PYPROJECT, self.arguments[0])
        except LookupError as exc:
            raise self.error(str(exc)) from exc
        self.env.note_dependency(str(_PYPROJECT))
        shown: list[nodes.Node] = [nodes.raw('', svg(graph), format='html')]
        if 'no-table' not in self.options:
            lines = StringList(list(table(graph)), source='layer-picture')
            holder = nodes.container()
            self.state.nested_parse(lines, 0, holder)
            shown += holder.children
        return shown


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directive."""
    app.add_directive('layer-picture', LayerPicture)
    return {'parallel_read_safe': True, 'parallel_write_safe': True}
