"""The commands in the pages are those of the programs."""

from __future__ import annotations

import contextlib
import importlib.metadata
import inspect
import io
import pathlib
import re
import shlex
import unittest
from collections.abc import Callable, Iterable, Iterator

from ironic_ownership import metrics
from ironic_ownership.cli import app
from ironic_ownership.cmd import dbsync
from tests.unit.checkout import PAGES, ROOT

_PAGES = sorted(
    [
        *ROOT.glob('*.rst'),
        *PAGES.rglob('*.rst'),
        *ROOT.glob('nova_driver/*.rst'),
    ]
)
_PROMPT = re.compile(r'^ +[$#] (.*)$')
_PROGRAM = re.compile(
    r'^(?:in-nova |podman exec \S+ |runuser -u \S+ -- |\S*/)*'
    r'ironic-ownership(-dbsync)? (.*)$'
)
_IN_PROSE = re.compile(r'(?<!`)``(ironic-ownership(?:-dbsync)? [^`]+)``')
_PATHS = re.compile(
    r'``((?:doc/source|etc|tests|tools|lab)/[\w./-]+)``(?! \(new\))'
)
_OPTION = re.compile(r'``\[(\w+)\] (\w+)(?: = [^`]*)?``')
_OF_OTHERS = {
    ('DEFAULT', 'manager_shutdown_timeout'),
    ('DEFAULT', 'rpc_response_timeout'),
    ('conductor', 'heartbeat_timeout'),
    ('metrics', 'backend'),
    ('oslo_messaging_rabbit', 'ssl'),
}
"""Options of Nova, Ironic and libraries, which these packages do not have."""
_METRIC = re.compile(r"(?:Family|\bown)\(\s*'(\w+)'")
_REQUIRED = 'arguments are required'
_WORDS_OF_SHELLS = {'|', '>', '&&', ';', '<'}


def _lines(page: pathlib.Path) -> Iterator[tuple[int, str]]:
    """Yield what is behind a prompt, continued lines joined."""
    lines = enumerate(page.read_text().splitlines(), 1)
    for number, line in lines:
        found = _PROMPT.match(line)
        if found is None:
            continue
        text = found[1]
        while text.endswith('\\'):
            text = text[:-1] + next(lines)[1].strip()
        yield number, text


def _in_prose(page: pathlib.Path) -> Iterator[tuple[int, str]]:
    """Yield the commands that sentences name."""
    for match in _IN_PROSE.finditer(page.read_text()):
        number = match.string.count('\n', 0, match.start()) + 1
        yield number, ' '.join(match[1].split())


def _command(text: str) -> list[str]:
    """Return the words of a command of the programs; empty for others."""
    found = _PROGRAM.match(text)
    if found is None or '...' in text:
        return []
    words = shlex.split(found[2], comments=True)
    ends = [at for at, word in enumerate(words) if word in _WORDS_OF_SHELLS]
    program = f'ironic-ownership{found[1] or ""}'
    return [program, *words[: min(ends, default=len(words))]]


def _fault(words: list[str]) -> str:
    """Return why the program, the first of these words, refuses the rest."""
    name, *words = words
    program = app.App()
    said = io.StringIO()
    try:
        with (
            contextlib.redirect_stderr(said),
            contextlib.redirect_stdout(said),
        ):
            if name == 'ironic-ownership-dbsync':
                dbsync._parser().parse_args(words)
                return ''
            _, rest = program.parser.parse_known_args(words)
            if not rest or rest[0] == 'help':
                return ''
            factory, name, rest = program.command_manager.find_command(rest)
            factory(program, None, name).get_parser(name).parse_args(rest)
    except ValueError as exc:
        return str(exc)
    except SystemExit as exc:
        return said.getvalue() if exc.code else ''
    return ''


def _faults(
    lines: Callable[[pathlib.Path], Iterable[tuple[int, str]]],
) -> Iterator[tuple[str, str, str]]:
    """Yield the place, text and fault of each command in the pages."""
    for page in _PAGES:
        for number, text in lines(page):
            if words := _command(text):
                place = f'{page.relative_to(ROOT)}:{number}'
                yield place, text, _fault(words)


class PagesTest(unittest.TestCase):
    """Each command of the programs, behind a prompt or in a sentence."""

    def test_every_command_in_the_pages_is_one(self) -> None:
        """A page that names a command or an option that is not there fails."""
        for lines, least in ((_lines, 150), (_in_prose, 30)):
            seen = 0
            for place, text, fault in _faults(lines):
                seen += 1
                with self.subTest(place, command=text):
                    # A sentence may leave out what the command requires.
                    if lines is _lines or _REQUIRED not in fault:
                        self.assertEqual('', fault)
            self.assertGreater(seen, least)

    def test_every_file_that_a_page_names_exists(self) -> None:
        """A reader of the checkout opens them."""
        for page in _PAGES:
            for name in _PATHS.findall(page.read_text()):
                with self.subTest(page.relative_to(ROOT), name=name):
                    self.assertTrue((ROOT / name).exists())

    def test_every_option_that_a_guide_names_exists(self) -> None:
        """An operator copies it into a file; a program refuses others."""
        known = _OF_OTHERS.union(
            (getattr(group, 'name', group) or 'DEFAULT', option.dest)
            for entry_point in importlib.metadata.entry_points(
                group='oslo.config.opts'
            )
            if not entry_point.name.startswith('nova')
            for group, options in entry_point.load()()
            for option in options
        )
        seen = 0
        for page in _PAGES:
            # The other pages have examples of mistakes and of new options.
            if page.parent.name not in ('contributor', 'configuration'):
                for named in _OPTION.findall(
                    ' '.join(page.read_text().split())
                ):
                    seen += 1
                    with self.subTest(page.relative_to(ROOT), named=named):
                        self.assertIn(named, known)
        self.assertGreater(seen, 80)

    def test_every_metric_is_in_a_guide_and_no_other_one(self) -> None:
        """An alert on a metric that is not there never fires."""
        guides = ''.join(
            (PAGES / 'run' / name).read_text()
            for name in ('health.rst', 'http-service.rst')
        )
        self.assertEqual(
            set(_METRIC.findall(inspect.getsource(metrics))),
            set(re.findall(r'``ironic_ownership_(\w+)', guides)),
        )
