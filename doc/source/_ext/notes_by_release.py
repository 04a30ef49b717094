"""Directive that shows reno's notes by the releases of ``RELEASES``.

Usage: ``.. notes-by-release::``. reno's own directive needs tags, which a
clone may lack. Without git all notes are those of the next release.
"""

from __future__ import annotations

import pathlib
import subprocess
from collections.abc import Iterator
from typing import Any

import yaml
from docutils import nodes
from docutils.statemachine import StringList
from reno import config, formatter
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from sphinx.util.nodes import nested_parse_with_titles

_ROOT = pathlib.Path(__file__).parents[3]
_NOTES = 'releasenotes/notes'
_NEXT = 'Next release'


class Notes(dict[str, list[tuple[str, str]]]):
    """The files of the notes, by release, as reno's formatter reads them."""

    def __init__(self) -> None:
        super().__init__()
        left = {path.name for path in (_ROOT / _NOTES).glob('*.yaml')}
        for version, commit in _releases():
            of_release = left & _files(commit)
            left -= of_release
            self[version] = _sorted(of_release)
        self[_NEXT] = _sorted(left)

    def parse_note_file(self, name: str, _commit: str) -> Any:
        """Return the content of a note."""
        return yaml.safe_load((_ROOT / _NOTES / name).read_text())


def _sorted(names: set[str]) -> list[tuple[str, str]]:
    return [(name, '') for name in sorted(names)]


def _releases() -> Iterator[list[str]]:
    """Yield the version and the commit of each release, oldest first."""
    for line in (_ROOT / 'RELEASES').read_text().splitlines():
        if line and not line.startswith('#'):
            yield line.split()


def _files(commit: str) -> set[str]:
    done = subprocess.run(
        ['git', 'ls-tree', '--name-only', commit, f'{_NOTES}/'],
        cwd=_ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    return {pathlib.PurePath(name).name for name in done.stdout.split()}


class NotesByRelease(SphinxDirective):
    """A section for each release, the newest first."""

    def run(self) -> list[nodes.Node]:
        """Return the sections."""
        found = Notes()
        text = formatter.format_report(
            found,
            config.Config(str(_ROOT)),
            [version for version in reversed(found) if found[version]],
            show_source=False,
        )
        section = nodes.section()
        section.document = self.state.document
        lines = StringList(text.splitlines(), source='notes-by-release')
        nested_parse_with_titles(self.state, lines, section)
        return section.children


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directive."""
    app.add_directive('notes-by-release', NotesByRelease)
    return {'parallel_read_safe': True, 'parallel_write_safe': True}
