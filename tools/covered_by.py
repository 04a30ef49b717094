"""Find the tests that run each line: ``covered_by.py OUTPUT START...``.

Runs the tests below each START in the current directory, and writes a JSON
object: of each module of the product the lines, of each line the tests that
run it, the quickest first. A line that runs while modules are imported, or in
the set-up of a class, has no test for that; tests that fail are named on
stderr, and make the exit code 1.
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
        covered.switch_context(test.id())

    def stopTest(self, test: unittest.TestCase) -> None:  # noqa: N802
        covered.switch_context('')
        self.seconds[test.id()] = time.monotonic() - self._began
        super().stopTest(test)


output, *starts = sys.argv[1:]
sys.path.insert(0, '')
covered = coverage.Coverage(
    data_file=None,
    config_file=False,
    source=['ironic_ownership'],
    concurrency=['thread', 'greenlet'],
)
covered.start()
suite = unittest.TestSuite(
    unittest.TestLoader().discover(start, top_level_dir='.')
    for start in starts
)
# What was imported is no garbage, and is not searched each time.
gc.freeze()
result = unittest.TextTestRunner(
    resultclass=_Result, verbosity=0, buffer=True
).run(suite)
covered.stop()
seconds = result.seconds
data = covered.get_data()
root = pathlib.Path.cwd()
tests = {
    str(pathlib.Path(name).relative_to(root)): {
        line: sorted(filter(None, found), key=seconds.__getitem__)
        for line, found in data.contexts_by_lineno(name).items()
    }
    for name in data.measured_files()
}
pathlib.Path(output).write_text(json.dumps(tests))
sys.exit(not result.wasSuccessful())
