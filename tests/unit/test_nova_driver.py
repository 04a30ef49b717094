"""The distribution of the Nova driver, as far as it needs no Nova."""

from __future__ import annotations

import ast
import pathlib
import tomllib

import testtools

_CHECKOUT = pathlib.Path(__file__).resolve().parents[2]
_DRIVER = _CHECKOUT / 'nova_driver'
_SHIM = 'ironic_ownership_nova/virt/ironic_ownership'


class TestNovaDriver(testtools.TestCase):
    def setUp(self) -> None:
        super().setUp()
        text = (_DRIVER / 'pyproject.toml').read_text()
        self.metadata = tomllib.loads(text)

    def test_it_imports_only_what_is_made_for_embedding(self) -> None:
        found = set()
        for path in (_DRIVER / 'ironic_ownership_nova').rglob('*.py'):
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.ImportFrom) and node.module:
                    names = [f'{node.module}.{n.name}' for n in node.names]
                elif isinstance(node, ast.Import):
                    names = [name.name for name in node.names]
                else:
                    continue
                found |= {
                    '.'.join(name.split('.')[:3])
                    for name in names
                    if name.split('.')[0] == 'ironic_ownership'
                }
        self.assertEqual(
            {'ironic_ownership.policies.nova_options'},
            {n for n in found if not n.startswith('ironic_ownership.embed')},
        )
        self.assertTrue(any('.embedding' in name for name in found))

    def test_nova_finds_the_module_below_its_drivers(self) -> None:
        tool = self.metadata['tool']['setuptools']
        self.assertIn('nova.virt.ironic_ownership', tool['packages'])
        self.assertEqual(
            {'nova.virt.ironic_ownership': _SHIM}, tool['package-dir']
        )
        self.assertTrue((_DRIVER / _SHIM / '__init__.py').is_file())

    def test_all_packages_are_in_the_wheel(self) -> None:
        packages = {
            '.'.join(path.parent.relative_to(_DRIVER).parts)
            for path in (_DRIVER / 'ironic_ownership_nova').rglob(
                '__init__.py'
            )
        }
        listed = set(self.metadata['tool']['setuptools']['packages'])
        self.assertEqual(packages, listed - {'nova.virt.ironic_ownership'})

    def test_no_directory_of_the_checkout_shadows_nova(self) -> None:
        for directory in (_CHECKOUT, _DRIVER):
            self.assertFalse((directory / 'nova').exists())
