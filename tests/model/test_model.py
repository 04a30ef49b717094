"""The model of the protocol: it holds, it can break, the product follows it.

``doc/source/contributor/model.rst`` has the figures, and larger searches.
"""

from __future__ import annotations

import ast
import pathlib
import re
import tempfile
import unittest

from tests.model import mutants, tlc, trace
from tests.simulation.test_simulation import FIXED, simulate

_PACKAGE = tlc.HERE.parents[1] / 'ironic_ownership'
_MIDDLEWARE = tlc.HERE.parents[1] / 'ironic_middleware'
_PAGE = (tlc.HERE / 'Ownership.tla').read_text()
_CONFIG = (tlc.HERE / 'Ownership.cfg').read_text()
_NAMES = ('actor', 'writer', 'node', 'source', 'target')
_HISTORY = tlc.HERE / 'nemesis.jsonl'
_SOURCE = re.compile(r'^\\\* (\S+\.py): (.+)$')


class TestModel(unittest.TestCase):
    def test_each_law_holds_in_every_state(self) -> None:
        outcome = tlc.check('Ownership', _CONFIG)
        self.assertTrue(outcome.is_complete, outcome.error)
        self.assertGreater(outcome.states, 100_000)

    def test_a_fault_of_the_page_breaks_its_law(self) -> None:
        for mutant in mutants.MUTANTS:
            if not mutant.quick:
                continue
            with self.subTest(mutant.name):
                outcome = mutant.search(_PAGE, _CONFIG)
                self.assertEqual([mutant.law], outcome.violated)


class TestNames(unittest.TestCase):
    """Page and code name each other."""

    def test_each_action_names_a_function_that_names_it(self) -> None:
        actions = _actions()
        self.assertGreater(len(actions), 15)
        for action, functions in actions.items():
            self.assertTrue(functions, f'{action} names no function')
            for path, function in functions:
                with self.subTest(action, function=function):
                    self.assertRegex(
                        _source(_PACKAGE / path, function),
                        rf'# Model: .*\b{action}\b',
                    )

    def test_code_names_only_actions_that_exist(self) -> None:
        named = {
            action
            for package in (_PACKAGE, _MIDDLEWARE)
            for path in package.rglob('*.py')
            for line in re.findall(r'# Model: (.+)', path.read_text())
            for action in re.findall(r'\w+', line)
        }
        self.assertEqual(set(), named - _actions().keys())


class TestSimulation(unittest.TestCase):
    def test_histories_of_schedules_are_histories_of_the_model(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            simulate(
                *('--seed', FIXED, '--schedules', '4', '--histories', name)
            )
            histories = [
                trace.read(path)
                for path in sorted(pathlib.Path(name).iterdir())
            ]
        # One search for all: the services of each are others.
        events = [
            {
                key: f'{value} of {number}'
                if value is not None and key in _NAMES
                else value
                for key, value in event.items()
            }
            for number, history in enumerate(histories)
            for event in history
        ]
        self.assertGreater(len(events), 50)
        self.assertIsNone(trace.first_refused(events))


class TestHistories(unittest.TestCase):
    """A run of the nemesis, with PostgreSQL and real processes."""

    def setUp(self) -> None:
        super().setUp()
        self.events = trace.read(_HISTORY)

    def test_recorded_history_is_one_of_the_model(self) -> None:
        self.assertIsNone(trace.first_refused(self.events))

    def test_write_of_a_fenced_process_is_refused_at_that_event(self) -> None:
        number, event = self.fenced_writer()
        events = [*self.events[:number], event, *self.events[number:]]
        refusal = trace.first_refused(events)
        assert refusal is not None
        self.assertEqual(number + 1, refusal.number)
        self.assertIn(f'event {number + 1} is refused: ', str(refusal))
        self.assertIn('late', str(refusal))

    def fenced_writer(self) -> tuple[int, trace.Event]:
        """Return a claim by a process after it lost its place, and where."""
        for number, event in enumerate(self.events):
            if event['kind'] == 'service_registered' and number:
                before = [
                    one['writer']
                    for one in self.events[:number]
                    if one['kind'] == 'service_registered'
                    and one['actor'] == event['actor']
                    and one['writer'] != event['writer']
                ]
                if before:
                    return number + 1, {
                        'id': 'late',
                        'kind': 'owner_changed',
                        'actor': event['actor'],
                        'writer': before[-1],
                        'node': 'a new node',
                        'source': None,
                        'target': event['actor'],
                        'reason': None,
                    }
        raise AssertionError('no process of the history had a successor')


def _actions() -> dict[str, list[tuple[str, str]]]:
    """Return the actions of the page, with the functions that they name."""
    actions: dict[str, list[tuple[str, str]]] = {}
    sources: list[tuple[str, str]] = []
    _, _, system = _PAGE.partition('\nLessOf(f) ==')
    for line in system.partition('\nNew ==')[0].splitlines():
        if match := _SOURCE.match(line):
            path, names = match.groups()
            sources += [(path, name) for name in names.split(', ')]
        elif sources and (match := re.match(r'(\w+)(\(.*\))? ==', line)):
            actions[match[1]] = sources
            sources = []
    return actions


def _source(path: pathlib.Path, function: str) -> str:
    """Return the lines of a function, or of a method of any class."""
    text = path.read_text()
    for found in ast.walk(ast.parse(text)):
        if isinstance(found, ast.FunctionDef) and found.name == function:
            lines = text.splitlines()[found.lineno - 1 : found.end_lineno]
            return '\n'.join(lines)
    raise AssertionError(f'{path} has no function {function}')
