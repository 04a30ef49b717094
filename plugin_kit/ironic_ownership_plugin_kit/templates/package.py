"""Render the templates: from a kind and a name to files and their text.

Writes nothing, and does not check that the name is free.
"""

from __future__ import annotations

import dataclasses
import enum
import importlib.resources
import re
import string
from collections.abc import Iterator
from importlib.resources import abc

_NAME = re.compile(r'[a-z][a-z0-9]*(_[a-z0-9]+)*')
_LONGEST = 40
_SUFFIX = '.tmpl'


class Kind(enum.StrEnum):
    """Kind of a plugin."""

    FILTER = 'filter'
    ASSIGNER = 'assigner'
    WEIGHTED = 'weighted'
    BACKEND = 'backend'


_CHECKED_WITH = {
    Kind.FILTER: ' --option values=a,b',
    Kind.ASSIGNER: '',
    Kind.WEIGHTED: ' --option weight=2',
    Kind.BACKEND: ' --option path=/tmp/members.json',
}


@dataclasses.dataclass(frozen=True)
class Package:
    """A package with one plugin, not written yet.

    :param name: of the entry point; see :func:`fault_of`.
    """

    kind: Kind
    name: str

    @property
    def distribution(self) -> str:
        """Its name for pip."""
        return f'ironic-ownership-{self.name.replace("_", "-")}'

    @property
    def module(self) -> str:
        """Its name for imports."""
        return f'ironic_ownership_{self.name}'

    @property
    def role(self) -> str:
        """Its role in the configuration: policy or backend."""
        return 'backend' if self.kind is Kind.BACKEND else 'policy'

    @property
    def group(self) -> str:
        """The group of its entry point."""
        backend = self.kind is Kind.BACKEND
        return f'ironic_ownership.{"backends" if backend else "policies"}'

    @property
    def section(self) -> str:
        """The group of its options in the configuration."""
        return f'{self.role}_{self.name}'

    @property
    def class_name(self) -> str:
        """The plugin's class."""
        words = self.name.split('_')
        return ''.join(w.capitalize() for w in words) + self.role.capitalize()

    @property
    def check(self) -> str:
        """The command that checks the installed plugin."""
        options = _CHECKED_WITH[self.kind]
        return f'ironic-ownership plugin check {self.name}{options}'

    def files(self) -> dict[str, str]:
        """Return the text of each file by its path in the package."""
        values = {
            'check': self.check,
            'class_name': self.class_name,
            'distribution': self.distribution,
            'group': self.group,
            'kind': self.kind.value,
            'module': self.module,
            'name': self.name,
            'role': self.role,
            'section': self.section,
            'underline': '=' * len(self.distribution),
        }
        templates = importlib.resources.files(__package__)
        return {
            self._path(where): string.Template(text).substitute(values)
            for part in ('every', self.kind.value)
            for where, text in _found(templates / part)
        }

    def _path(self, where: str) -> str:
        path = where.removesuffix(_SUFFIX)
        head, _, tail = path.partition('/')
        return f'{self.module}/{tail}' if head == 'module' else path


def fault_of(name: str) -> str | None:
    """Return the fault of a name for a plugin; ``None`` if it is valid.

    It becomes the name of a module, of an entry point and of a group of the
    configuration.
    """
    if len(name) > _LONGEST:
        return f'is longer than {_LONGEST} characters'
    if not _NAME.fullmatch(name):
        return (
            'is not made of lower-case letters, digits and single '
            'underscores, with a letter first'
        )
    return None


def _found(directory: abc.Traversable) -> Iterator[tuple[str, str]]:
    for entry in sorted(directory.iterdir(), key=lambda found: found.name):
        if entry.is_dir():
            for where, text in _found(entry):
                yield f'{entry.name}/{where}', text
        elif entry.name.endswith(_SUFFIX):
            yield entry.name, entry.read_text(encoding='utf-8')
