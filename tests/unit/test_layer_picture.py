"""The picture of the layers shows the contracts and the imports."""

import itertools
import pathlib
import re
import sys
import tomllib
from xml.etree import ElementTree

import testtools

_CHECKOUT = pathlib.Path(__file__).parents[2]
_PYPROJECT = _CHECKOUT / 'pyproject.toml'
sys.path.append(str(_CHECKOUT / 'doc' / 'source' / '_ext'))

import layer_graph  # noqa: E402 - from that directory
import layer_picture  # noqa: E402 - from that directory


def _graph(*imports: tuple[str, str]) -> layer_graph.LayerGraph:
    return layer_graph.LayerGraph(
        'house',
        (('roof',), ('left', 'right'), ('hall',), ('cellar',)),
        dict.fromkeys(imports, 1),
    )


class LayerGraphTest(testtools.TestCase):
    """Rows from the contracts, arrows from the imports."""

    def test_rooms_without_a_module_are_left_out(self) -> None:
        self.assertEqual(
            (('a', 'b'), ('d',)),
            layer_graph.rows(
                ['a : b', '(c)', 'd | (e)'], ['x.a', 'x.b', 'x.d']
            ),
        )

    def test_import_that_follows_from_others_is_no_arrow(self) -> None:
        graph = _graph(
            ('roof', 'left'), ('left', 'cellar'), ('roof', 'cellar')
        )
        self.assertEqual(
            {('roof', 'left'), ('left', 'cellar')}, graph.direct()
        )

    def test_every_room_of_the_package_is_read(self) -> None:
        graph = layer_graph.read(_PYPROJECT, 'layers')
        package = _CHECKOUT / 'ironic_ownership'
        there = {
            path.stem
            for path in package.iterdir()
            if path.suffix == '.py' or (path / '__init__.py').exists()
        }
        self.assertEqual(there - {'__init__'}, set(graph.rooms))

    def test_imports_are_those_of_the_source(self) -> None:
        graph = layer_graph.read(_PYPROJECT, 'rooms')
        room = _CHECKOUT / 'ironic_ownership' / 'engine' / 'host'
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


class ArchitectureTest(testtools.TestCase):
    """The page with the pictures."""

    def test_every_room_is_described(self) -> None:
        page = _CHECKOUT / 'doc/source/contributor/architecture.rst'
        described = set(re.findall(r'``(\w+)``', page.read_text()))
        for contract in ('layers', 'rooms'):
            graph = layer_graph.read(_PYPROJECT, contract)
            self.assertEqual(set(), {*graph.rooms} - described)


class LayerPictureTest(testtools.TestCase):
    """Elements of the picture."""

    def _elements(self, graph: layer_graph.LayerGraph) -> ElementTree.Element:
        return ElementTree.fromstring(layer_picture.svg(graph))

    def _drawn(
        self, graph: layer_graph.LayerGraph, attribute: str
    ) -> set[str]:
        found = (one.get(attribute) for one in self._elements(graph).iter())
        return {value for value in found if value}

    def test_every_room_and_every_arrow_is_drawn(self) -> None:
        contracts = tomllib.loads(_PYPROJECT.read_text())['tool'][
            'importlinter'
        ]['contracts']
        for contract in contracts:
            if contract['type'] == 'layers':
                graph = layer_graph.read(_PYPROJECT, contract['id'])
                self.assertEqual(
                    {*graph.rooms}, self._drawn(graph, 'data-room')
                )
                self.assertEqual(
                    {f'{room} {to}' for room, to in graph.direct()},
                    self._drawn(graph, 'data-edge'),
                )

    def test_arrow_past_a_row_crosses_none_of_its_rooms(self) -> None:
        graph = _graph(('roof', 'left'), ('roof', 'right'), ('roof', 'cellar'))
        for row in layer_picture.Layout(graph).rows:
            for one, following in itertools.pairwise(row):
                self.assertLess(
                    one.x + one.width / 2, following.x - following.width / 2
                )

    def test_table_names_imports_that_are_not_drawn(self) -> None:
        graph = _graph(
            ('roof', 'left'), ('left', 'cellar'), ('roof', 'cellar')
        )
        self.assertIn(
            '     - ``left`` (1), ``cellar`` (1)',
            [*layer_picture.table(graph)],
        )
