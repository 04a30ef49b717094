"""Packages of third parties, as pip leaves them, for processes of tests.

A directory with a module and the metadata of its distribution, put on
``PYTHONPATH``: as good as installed for every process that gets it.
"""

from __future__ import annotations

import pathlib
import textwrap

from tests.functional.support import databases

HEAD = """
import time

from ironic_ownership.contracts import (
    AssignerPolicy, FilterPolicy, MembershipBackend, Option, OptionType,
    PolicySettingsError, Scope,
)
"""


class Site:
    """A directory of installed packages.

    :ivar environment: what makes a process see it.
    """

    def __init__(self) -> None:
        self.path = databases.temporary_directory('site')
        self.environment = {'PYTHONPATH': str(self.path)}

    def install(
        self,
        distribution: str,
        source: str,
        policies: dict[str, str] | None = None,
        backends: dict[str, str] | None = None,
        version: str = '1.5',
    ) -> str:
        """Install a package.

        :param source: of its one module, behind the imports of the contract.
        :param policies: classes in it, by the names of the policies.
        :returns: name and version, as the host tells them.
        """
        module = distribution.replace('-', '_')
        (self.path / f'{module}.py').write_text(HEAD + textwrap.dedent(source))
        info = self.path / f'{module}-{version}.dist-info'
        info.mkdir()
        (info / 'METADATA').write_text(
            f'Metadata-Version: 2.1\nName: {distribution}\n'
            f'Version: {version}\n'
        )
        lines = []
        for group, found in (('policies', policies), ('backends', backends)):
            lines.append(f'[ironic_ownership.{group}]')
            lines += [f'{k} = {module}:{v}' for k, v in (found or {}).items()]
        (info / 'entry_points.txt').write_text('\n'.join([*lines, '']))
        return f'{distribution} {version}'

    def file(self, name: str) -> pathlib.Path:
        """Return the path of a file that plugins of a test look at."""
        return self.path / name
