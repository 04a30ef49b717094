"""Find the tests that run each line: ``covered_by.py OUTPUT MODULE...``.

Runs the unit and contract tests in the current directory, and writes a JSON
object. ``tests``: of each MODULE the lines, of each line the tests that run
it. ``seconds``: of each test. ``libraries``: what was imported. A line that
runs while modules are imported, or in the set-up of a class, has no test for
that; tests that fail are named on stderr, and make the exit code 1.
"""

import gc
import json
import pathlib
import sys
import time
import unittest

import coverage


class _Result(unittest.TextTestResult):
    """Switches the context of the coverage to the test that runs."""

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        self.seconds: dict[str, float] = {}

    def startTest(self, test: unittest.TestCase) -> None:  # noqa: N802
        super().startTest(test)
        self._began = time.monotonic()
        covered.switch_context(_name(test))

    def stopTest(self, test: unittest.TestCase) -> None:  # noqa: N802
        covered.switch_context('')
        self.seconds[_name(test)] = time.monotonic() - self._began
        super().stopTest(test)


def _name(test: unittest.TestCase) -> str:
    """Return what loads a test: hypothesis makes classes without a name."""
    kind = type(test)
    if kind.__module__.startswith('hypothesis'):
        for module in sys.modules.copy().values():
            for name, value in vars(module).items():
                if value is kind:
                    return f'{module.__name__}.{name}.runTest'
    return test.id()


output, *modules = sys.argv[1:]
root = pathlib.Path.cwd()
sys.path.insert(0, '')
covered = coverage.Coverage(
    data_file=None, config_file=False, include=[str(root / m) for m in modules]
)
covered.start()
suite = unittest.TestSuite(
    unittest.TestLoader().discover(start, top_level_dir='.')
    for start in ('tests/unit', 'tests/contract')
)
# What was imported is no garbage, and is not searched each time.
gc.freeze()
result = unittest.TextTestRunner(
    resultclass=_Result, verbosity=0, buffer=True
).run(suite)
covered.stop()
data = covered.get_data()
installed = (sys.prefix, sys.base_prefix)
pathlib.Path(output).write_text(
    json.dumps(
        {
            'tests': {
                str(pathlib.Path(name).relative_to(root)): {
                    line: sorted(filter(None, found))
                    for line, found in data.contexts_by_lineno(name).items()
                }
                for name in data.measured_files()
            },
            'seconds': result.seconds,
            'libraries': [
                name
                for name, module in sys.modules.copy().items()
                if (getattr(module, '__file__', None) or '').startswith(
                    installed
                )
            ],
        }
    )
)
sys.exit(not result.wasSuccessful())
