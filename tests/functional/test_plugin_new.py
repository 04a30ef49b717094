"""``plugin new`` on its command line: what it refuses, and what it prints.

``test_plugins_contrib.py`` installs the packages that it writes.
"""

from __future__ import annotations

import json
import pathlib
import tempfile
import unittest

from ironic_ownership import plugins
from tests.functional.support import command_line


def _files(directory: pathlib.Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(directory)): path.read_bytes()
        for path in directory.rglob('*')
        if path.is_file()
    }


class RefusalTest(unittest.TestCase):
    """A refused request changes no file."""

    def setUp(self) -> None:
        super().setUp()
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.root = pathlib.Path(directory.name)

    def refuse(
        self, code: int, text: str, *words: str, directory: str = 'new'
    ) -> None:
        before = _files(self.root), sorted(self.root.rglob('*'))
        target = self.root / directory
        done = command_line.run(
            'plugin', 'new', *words, '--directory', str(target)
        )
        self.assertEqual((code, ''), (done.returncode, done.stdout), done)
        self.assertIn(text, done.stderr)
        self.assertNotIn('unexpected', done.stderr)
        self.assertEqual(
            before, (_files(self.root), sorted(self.root.rglob('*')))
        )

    def test_bad_name_is_wrong_use(self) -> None:
        for name in ('Rack', 'a-b', '../x', '', 'import x'):
            self.refuse(2, repr(name), 'policy', name)

    def test_kind_is_for_policies(self) -> None:
        self.refuse(2, '--kind', 'backend', 'x', '--kind', 'filter')

    def test_name_of_a_built_in_plugin_is_taken(self) -> None:
        for group, role in (
            (plugins.POLICIES, 'policy'),
            (plugins.BACKENDS, 'backend'),
        ):
            (name, *_) = (e.name for e in plugins.entry_points(group))
            self.refuse(1, 'installed already', role, name)

    def test_existing_directory_is_left_as_it_is(self) -> None:
        (self.root / 'full').mkdir()
        (self.root / 'full' / 'pyproject.toml').write_text('mine')
        (self.root / 'empty').mkdir()
        (self.root / 'file').write_text('mine')
        (self.root / 'link').symlink_to(self.root / 'nowhere')
        for name in ('full', 'empty', 'file', 'link'):
            self.refuse(1, 'exists', 'policy', 'x', directory=name)

    def test_directory_that_cannot_be_made_is_named(self) -> None:
        self.refuse(
            1, f'{self.root}/no/new', 'policy', 'x', directory='no/new'
        )

    def test_next_steps_are_told_to_a_person_only(self) -> None:
        done = command_line.run(
            *('plugin', 'new', 'backend', 'x'),
            *('--directory', str(self.root / 'one')),
        )
        self.assertEqual((0, ''), (done.returncode, done.stderr), done)
        self.assertIn('Next:\n', done.stdout)
        self.assertIn(f'cd {self.root}/one\n', done.stdout)
        done = command_line.run(
            *('plugin', 'new', 'backend', 'x', '-f', 'json'),
            *('--directory', str(self.root / 'two')),
        )
        self.assertEqual(
            {
                'name': 'x',
                'kind': 'backend',
                'directory': f'{self.root}/two',
                'distribution': 'ironic-ownership-x',
                'module': 'ironic_ownership_x',
                'class': 'XBackend',
            },
            json.loads(done.stdout),
        )
        self.assertEqual(_files(self.root / 'one'), _files(self.root / 'two'))
