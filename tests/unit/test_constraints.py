"""Requirements that fit beside each release of Nova that was tried.

The files in ``constraints`` have the versions of our direct requirements that
pip would take together with that Nova in the month of its release. OpenStack's
own upper constraints of these releases are not in a package.
"""

from __future__ import annotations

import pathlib
import unittest
from collections.abc import Iterator

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.unit.checkout import pyproject

_CONSTRAINTS = pathlib.Path(__file__).with_name('constraints')

CONFLICTS = {
    '33': set[str](),
    '34': set[str](),
}
"""Requirements that do not fit, by release; the pages name them."""


def _requirements() -> Iterator[Requirement]:
    for directory in ('.', 'nova_driver'):
        project = pyproject(directory)['project']
        extras = project['optional-dependencies'].values()
        for group in (project['dependencies'], *extras):
            yield from map(Requirement, group)


class TestConstraints(unittest.TestCase):
    def test_requirements_fit_beside_each_release(self) -> None:
        for release, conflicts in CONFLICTS.items():
            lines = (_CONSTRAINTS / f'nova-{release}.txt').read_text()
            pins = dict(
                line.split('==')
                for line in lines.splitlines()
                if not line.startswith('#')
            )
            found = {
                canonicalize_name(one.name)
                for one in _requirements()
                if canonicalize_name(one.name) in pins
                and not one.specifier.contains(
                    pins[canonicalize_name(one.name)]
                )
            }
            with self.subTest(release):
                self.assertGreater(len(pins), 30)
                self.assertEqual(conflicts, found)
