"""The distribution of the Nova driver, as far as it needs no Nova."""

from __future__ import annotations

import unittest

from tests.unit.checkout import ROOT, imported, pyproject

_DRIVER = ROOT / 'nova_driver'
_PACKAGE = 'ironic_ownership_nova'
_WITHOUT_NOVA = ('cell', 'doctor')


class TestNovaDriver(unittest.TestCase):
    def test_each_part_imports_only_what_it_may(self) -> None:
        """The driver what is made for embedding, the cell no Nova."""
        own = tuple(f'{_PACKAGE}.{part}' for part in _WITHOUT_NOVA)
        found = set()
        for path in (_DRIVER / _PACKAGE).rglob('*.py'):
            for name in imported(path):
                first, *rest = name.split('.')
                if path.parent.name not in _WITHOUT_NOVA:
                    if first == 'ironic_ownership':
                        found.add(rest[0])
                elif not name.startswith(own):
                    self.assertNotIn(first, ('nova', _PACKAGE), path)
        self.assertEqual({'embedding'}, found)

    def test_all_packages_are_in_the_wheel(self) -> None:
        packages = {
            '.'.join(path.parent.relative_to(_DRIVER).parts)
            for path in (_DRIVER / _PACKAGE).rglob('__init__.py')
        }
        metadata = pyproject('nova_driver')
        listed = set(metadata['tool']['setuptools']['packages'])
        self.assertEqual(packages, listed - {'nova.virt.ironic_ownership'})
