"""Packages of third parties, as pip leaves them, for processes of tests.

A directory with a module and the metadata of its distribution, put on
``PYTHONPATH``: as good as installed for every process that gets it.
"""

from __future__ import annotations

import textwrap

from tests.functional.support import databases

HEAD = """
import os
import pathlib
import sys
import threading
import time

from ironic_ownership.contracts import AssignerPolicy, Source

def mood():
    if 'HAS_MOODS' not in os.environ:
        return ''
    return pathlib.Path({path!r}).read_text()

"""


class MoodySite:
    """Packages whose plugins change their behaviour while they run.

    :ivar environment: what makes a process see them.
    :ivar moody: the environment of a process in which they do; in others
        their ``mood()`` is an empty string.
    """

    def __init__(self) -> None:
        self.path = databases.temporary_directory('site')
        self.environment = {'PYTHONPATH': str(self.path)}
        self.moody = {**self.environment, 'HAS_MOODS': '1'}
        self._mood = self.path / 'mood'
        self.feel('')

    def feel(self, mood: str) -> None:
        """Change the behaviour of the plugins, all at once."""
        new = self._mood.with_suffix('.new')
        new.write_text(mood)
        new.rename(self._mood)

    def install(
        self,
        distribution: str,
        source: str,
        policies: dict[str, str],
        backends: dict[str, str],
    ) -> None:
        """Install version 1.5 of a package.

        :param source: of its one module, behind :data:`HEAD`.
        :param policies: classes in it, by the names of the policies.
        """
        module = distribution.replace('-', '_')
        text = HEAD.format(path=str(self._mood)) + textwrap.dedent(source)
        (self.path / f'{module}.py').write_text(text)
        info = self.path / f'{module}-1.5.dist-info'
        info.mkdir()
        (info / 'METADATA').write_text(
            f'Metadata-Version: 2.1\nName: {distribution}\nVersion: 1.5\n'
        )
        lines = []
        for group, found in (('policies', policies), ('backends', backends)):
            lines.append(f'[ironic_ownership.{group}]')
            lines += [f'{k} = {module}:{v}' for k, v in found.items()]
        (info / 'entry_points.txt').write_text('\n'.join([*lines, '']))
