"""The power of the simulation: changes that break the protocol, to be found.

``python -m tests.simulation.mutants`` applies each to a copy of the product,
runs schedules until a law is broken, and prints how many that took. One that
survives shows that a fault or a law is missing.
"""

from __future__ import annotations

import argparse
import importlib
import os
import pathlib
import re
import shutil
import sys
import tempfile
import tomllib
import traceback
from collections.abc import Iterator
from typing import NamedTuple, NoReturn

ROOT = pathlib.Path(__file__).parents[2]
PACKAGE = 'ironic_ownership'


class Mutant(NamedTuple):
    """A change of one place.

    :param edits: the file of each, in the package, with its text before and
        after.
    :param story: where it is looked for first.
    """

    name: str
    edits: tuple[tuple[str, str, str], ...]
    story: str = '*'

    @classmethod
    def every(cls) -> Iterator[Mutant]:
        """Read the mutants from their file."""
        listed = pathlib.Path(__file__).with_suffix('.toml').read_text()
        for one in tomllib.loads(listed)['mutant']:
            edits = (
                (edit['file'], edit['old'], edit['new'])
                for edit in (one, *one.get('also', ()))
            )
            yield cls(one['name'], tuple(edits), one.get('story', '*'))


MUTANTS = tuple(Mutant.every())


def copy(mutant: Mutant | None, directory: pathlib.Path) -> None:
    """Copy product and tests, with a change.

    :raises ValueError: if the text is not there once.
    """
    for name in (PACKAGE, 'ironic_middleware', 'tests'):
        shutil.copytree(
            ROOT / name,
            directory / name,
            ignore=shutil.ignore_patterns('functional'),
        )
    if mutant is not None:
        for name, old, new in mutant.edits:
            path = directory / PACKAGE / name
            text = path.read_text()
            if text.count(old) != 1:
                raise ValueError(f'{mutant.name}: {text.count(old)} times')
            path.write_text(text.replace(old, new))


def hunt(mutant: Mutant | None, *options: str) -> str:
    """Return the output of the schedules that run on a copy.

    In a fork of this process, which has imported all libraries.
    """
    with tempfile.TemporaryDirectory() as directory:
        copy(mutant, pathlib.Path(directory))
        output = pathlib.Path(directory, 'output')
        sys.stdout.flush()
        child = os.fork()
        if not child:
            _run_in(directory, output, options)
        os.waitpid(child, 0)
        return output.read_text()


def _run_in(
    directory: str, output: pathlib.Path, options: tuple[str, ...]
) -> NoReturn:
    with output.open('w') as file:
        sys.stdout = sys.stderr = file
        try:
            for name in list(sys.modules):
                if name.partition('.')[0].startswith((PACKAGE, 'tests')):
                    del sys.modules[name]
            os.chdir(directory)
            sys.path[:0] = [directory, f'{directory}/ironic_middleware']
            importlib.import_module('tests.simulation.__main__').run(options)
        except BaseException:  # noqa: BLE001 - the end of a child
            traceback.print_exc()
    os._exit(0)


def main() -> int:
    """Hunt the mutants that the arguments name; all by default.

    Each in its story, if it has one, then in each story, then in schedules.
    """
    parser = argparse.ArgumentParser(prog='python -m tests.simulation.mutants')
    parser.add_argument('--schedules', type=int, default=200)
    parser.add_argument('--seed', default='1')
    parser.add_argument('names', nargs='*')
    given = parser.parse_args()
    reproducible('tests.simulation.mutants')
    importlib.import_module('tests.simulation.__main__')
    print(f'{"mutant":60} schedules  seconds  found by')
    survivors = 0
    for mutant in MUTANTS:
        if given.names and not any(n in mutant.name for n in given.names):
            continue
        stories = '100' if mutant.story != '*' else '1'
        output = hunt(
            mutant,
            *('--schedules', str(given.schedules), '--seed', given.seed),
            *('--stories', stories, '--story', mutant.story),
            *('--minutes', '30'),
        )
        sums = re.search(
            r'(\d+) schedules, (\d+) violations, ([\d.]+) s', output
        )
        broken = re.search(r'^seed \d+: ([^:]*)', output, re.MULTILINE)
        survivors += broken is None
        law = broken[1] if broken else '-- not found'
        spent = f'{sums[1]:>9} {sums[3]:>8}' if sums else output
        print(f'{mutant.name:60} {spent}  {law}', flush=True)
    print(f'{survivors} survivors')
    return int(survivors > 0)


def reproducible(module: str, *options: str) -> None:
    """Start again without random hashes: sets are walked in their order.

    :param options: of Python, before the module.
    """
    if os.environ.get('PYTHONHASHSEED') != '0':
        os.environ['PYTHONHASHSEED'] = '0'
        given = [*options, '-m', module, *sys.argv[1:]]
        os.execv(sys.executable, [sys.executable, *given])


if __name__ == '__main__':
    sys.exit(main())
