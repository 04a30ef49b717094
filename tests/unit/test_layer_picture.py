"""The picture of the layers shows the contracts and the imports."""

import itertools
import re
import sys
import unittest
from xml.etree import ElementTree

from tests.unit.checkout import CONTRIBUTOR, PACKAGE, PAGES, ROOT, pyproject

_PYPROJECT = ROOT / 'pyproject.toml'
sys.path.append(str(PAGES / '_ext'))

import layer_graph  # noqa: E402 - from that directory
import layer_picture  # noqa: E402 - from that directory


def _graph(*imports: tuple[str, str]) -> layer_graph.LayerGraph:
    return layer_graph.LayerGraph(
        'house',
        (('roof',), ('left', 'right'), ('hall',), ('cellar',)),
        dict.fromkeys(imports, 1),
    )


class LayerGraphTest(unittest.TestCase):
    """Rows from the contracts, arrows from the imports."""

    def test_rooms_without_a_module_are_left_out(self) -> None:
        self.assertEqual(
            (('a', 'b'), ('d',)),
            layer_graph.rows(
                ['a : b', '(c)', 'd | (e)'], ['x.a', 'x.b', 'x.d']
            ),
        )

    def test_import_that_follows_from_others_is_no_arrow(self) -> None:
        arrows = (('roof', 'left'), ('left', 'cellar'))
        graph = _graph(*arrows, ('roof', 'cellar'))
        self.assertEqual({*arrows}, graph.direct())
        # The table names it.
        self.assertIn(
            '     - ``left`` (1), ``cellar`` (1)',
            [*layer_picture.table(graph)],
        )

    def test_every_room_of_the_package_is_read_and_described(self) -> None:
        there = {
            path.stem
            for path in PACKAGE.iterdir()
            if path.suffix == '.py' or (path / '__init__.py').exists()
        }
        layers = layer_graph.read(_PYPROJECT, 'layers')
        self.assertEqual(there - {'__init__'}, set(layers.rooms))
        page = (CONTRIBUTOR / 'architecture.rst').read_text()
        described = set(re.findall(r'``(\w+)``', page))
        rooms = layer_graph.read(_PYPROJECT, 'rooms')
        self.assertEqual(set(), {*layers.rooms, *rooms.rooms} - described)

    def test_imports_are_those_of_the_source(self) -> None:
        graph = layer_graph.read(_PYPROJECT, 'rooms')
        room = PACKAGE / 'engine' / 'host'
        text = '\n'.join(path.read_text() for path in room.glob('*.py'))
        found = set(
            re.findall(r'^ *from ironic_ownership\.engine\.(\w+)', text, re.M)
        ) | {
            name
            for names in re.findall(
                r'^ *from ironic_ownership\.engine import (.+)', text, re.M
            )
            for name in re.findall(r'\w+', names)
        }
        self.assertEqual(found - {'host'}, {*graph.imported_by('host')})


class LayerPictureTest(unittest.TestCase):
    """Elements of the picture."""

    def test_every_room_and_every_arrow_is_drawn(self) -> None:
        contracts = pyproject()['tool']['importlinter']['contracts']
        for contract in contracts:
            if contract['type'] == 'layers':
                graph = layer_graph.read(_PYPROJECT, contract['id'])
                picture = ElementTree.fromstring(layer_picture.svg(graph))
                for attribute, expected in (
                    ('data-room', {*graph.rooms}),
                    ('data-edge', {' '.join(one) for one in graph.direct()}),
                ):
                    drawn = {one.get(attribute) for one in picture.iter()}
                    self.assertEqual(expected, drawn - {None})

    def test_arrow_past_a_row_crosses_none_of_its_rooms(self) -> None:
        graph = _graph(('roof', 'left'), ('roof', 'right'), ('roof', 'cellar'))
        for row in layer_picture.Layout(graph).rows:
            for one, following in itertools.pairwise(row):
                self.assertLess(
                    one.x + one.width / 2, following.x - following.width / 2
                )
