"""Versions of builds: from the file of releases, with and without git."""

from __future__ import annotations

import importlib.util
import pathlib
import subprocess
import tempfile
import types
import unittest
from unittest import mock

from tests.unit.checkout import ROOT


def load() -> types.ModuleType:
    path = ROOT / 'tools' / 'pbr_releases.py'
    spec = importlib.util.spec_from_file_location('pbr_releases', path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    with mock.patch.dict('os.environ'):
        spec.loader.exec_module(module)
    return module


class TestVersion(unittest.TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.backend = load()
        directory = self.enterContext(tempfile.TemporaryDirectory())
        self.root = pathlib.Path(directory)
        self.release('0' * 40)

    def release(self, commit: str) -> None:
        (self.root / 'RELEASES').write_text(
            f'# Newest last.\n0.9.0 {"1" * 40}\n1.0.0 {commit}\n'
        )

    def git(self, *words: str) -> str:
        return subprocess.run(
            [
                *('git', '-c', 'user.name=x', '-c', 'user.email=x@localhost'),
                *('-c', 'commit.gpgsign=false', '-c', 'tag.gpgsign=false'),
                *words,
            ],
            cwd=self.root,
            check=True,
            capture_output=True,
            text=True,
        ).stdout.strip()

    def commit(self) -> str:
        self.git('commit', '--allow-empty', '--message', 'x', '--no-verify')
        return self.git('rev-parse', 'HEAD')

    def version(self) -> str | None:
        found: str | None = self.backend.version(self.root)
        return found

    def test_archive_without_git_is_before_the_next_release(self) -> None:
        self.assertEqual('1.1.0.dev0', self.version())
        # A source archive keeps its version.
        (self.root / 'PKG-INFO').write_text('Version: 1.1.0\n')
        self.assertIsNone(self.version())

    def test_commits_since_the_release_are_counted_without_a_tag(self) -> None:
        self.git('init', '--quiet')
        self.commit()
        # The clone lacks the commit of the release.
        self.assertEqual('1.1.0.dev0', self.version())
        self.release(self.commit())
        for expected in ('1.0.0', '1.1.0.dev1', '1.1.0.dev2'):
            self.assertEqual(expected, self.version())
            self.commit()
        # A commit with a tag has its version.
        self.git('tag', '1.1.0')
        self.assertEqual('1.1.0', self.version())
