"""Run tests and schedules against mutants: ``mutated.py COVERED``.

COVERED is what ``covered_by.py`` wrote. Each line of stdin is a JSON object
with ``module`` (a path), ``text`` (what is imported instead of the file),
``tests`` (names), ``limit`` (seconds of tests) and ``schedules`` (of the
simulation). Each line of stdout answers one: ``killed``, ``simulation`` or
``SURVIVED``. A mutant runs in a fork of this process, which has imported the
libraries, but nothing of the product. Processes that tests start see the file.
"""

import contextlib
import gc
import importlib
import itertools
import json
import os
import pathlib
import signal
import sys
import unittest
from collections.abc import Iterable, Mapping, Sequence
from importlib.machinery import SourceFileLoader
from types import CodeType
from typing import Any

_PATIENCE = 15
"""Seconds that a test may take beyond ten times what it took: an endless loop
is noticed."""

_SIMULATION = 900
"""Seconds for the schedules of one mutant, for the same reason."""


class _Result(unittest.TestResult):
    def startTest(self, test: unittest.TestCase) -> None:  # noqa: N802
        super().startTest(test)
        signal.alarm(_PATIENCE + int(10 * seconds.get(test.id(), 0)))


def _fails(classes: Iterable[str], begun: int) -> bool:
    """Return whether a test fails; a line is written when a class begins."""
    result = _Result()
    result.failfast = True
    for name in classes:
        os.write(begun, f'{name}\n'.encode())
        signal.alarm(_PATIENCE)
        loader = unittest.defaultTestLoader
        loader.loadTestsFromNames(tests_of[name]).run(result)
        if not result.wasSuccessful():
            return True
    return False


def _found(schedules: int, begun: int) -> bool:
    signal.alarm(_SIMULATION)
    options = ['--seed=1', '--stories=1', '--minutes=15']
    simulation = importlib.import_module('tests.simulation.__main__')
    return bool(simulation.run([*options, f'--schedules={schedules}']))


def _forked(work: Any, argument: Any, text: Mapping[str, str]) -> str | None:
    """Do work in a fork that imports a text instead of a file.

    :returns: the last line that it wrote, if it ended with true or did not
        end by itself.
    """
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        os.setsid()
        null = os.open(os.devnull, os.O_RDWR)
        for number in range(3):
            os.dup2(null, number)
        mutated.update(text)
        bad = True
        with contextlib.suppress(BaseException):
            bad = work(argument, writer)
        os._exit(bad)
    os.close(writer)
    status = os.waitpid(child, 0)[1]
    with os.fdopen(reader) as lines:
        written = lines.read().split()
    return (written or [''])[-1] if status else None


def _answer(
    module: str,
    text: str,
    tests: Sequence[str],
    limit: float,
    schedules: int,
) -> str:
    changed = {str(pathlib.Path.cwd() / module): text}
    tests_of.clear()
    for test in tests:
        tests_of.setdefault(test.rpartition('.')[0], []).append(test)
    order = sorted(tests_of, key=_seconds)
    sums = itertools.accumulate(map(_seconds, order))
    order = [one for one, end in zip(order, sums, strict=True) if end <= limit]
    while killer := _forked(_fails, order, changed):
        # What fails without a mutant, alone, has found none.
        if killer not in sound:
            sound[killer] = not _forked(_fails, [killer], {})
        if sound[killer]:
            return 'killed'
        print(f'fails without a mutant: {killer}', file=sys.stderr)
        order.remove(killer)
    if schedules and _forked(_found, schedules, changed) is not None:
        return 'simulation'
    return 'SURVIVED'


def _seconds(name: str) -> float:
    return sum(seconds.get(test, 0) for test in tests_of[name])


tests_of: dict[str, list[str]] = {}
"""The tests that are run, by their class, so that each is set up once."""

sound: dict[str, bool] = {}
"""Whether the tests of a class succeed without a mutant."""

given = json.loads(pathlib.Path(sys.argv[1]).read_text())
seconds = given['seconds']
sys.path.insert(0, str(pathlib.Path.cwd()))
for name in given['libraries']:
    with contextlib.suppress(Exception):
        importlib.import_module(name)
gc.freeze()
mutated: dict[str, str] = {}
get_code = SourceFileLoader.get_code


def _get_code(loader: SourceFileLoader, name: str) -> CodeType | None:
    text = mutated.get(loader.path)
    if text is None:
        return get_code(loader, name)
    return loader.source_to_code(text.encode(), loader.path)


SourceFileLoader.get_code = _get_code  # type: ignore[method-assign]
for line in sys.stdin:
    print(_answer(**json.loads(line)), flush=True)
