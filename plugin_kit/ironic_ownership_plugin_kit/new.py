"""``plugin new``: write a package with a policy or a backend to begin with.

Never overwrites anything: the directory is one that did not exist before.
"""

from __future__ import annotations

import argparse
import importlib.util
import pathlib
import shutil
import sys
from collections.abc import Sequence
from typing import Any

from ironic_ownership import plugins
from ironic_ownership.cli import base, errors
from ironic_ownership.contracts import exceptions
from ironic_ownership_plugin_kit.templates import package

_KINDS = [kind for kind in package.Kind if kind is not package.Kind.BACKEND]

_NEXT = """\

Next:
  cd {directory}
{make}  {bin}/pip install -e '.[test]'
  {bin}/stestr run                   # or: {bin}/pytest
Then make {source} and its tests your own, and:
  {bin}/{check}
  {bin}/pip wheel --no-deps .        # to be installed beside the service
"""
_MAKE = '  python3 -m venv .venv\n'


class NewPlugin(base.ShowOne):
    """Write a package with a new policy or membership backend.

    The package works, and passes its own tests: the contract suite of
    ironic_ownership_plugin_kit, and a few of its own. Change it from there.
    """

    uses_api = False

    notes = """\
kinds of policies:
  filter    says which nodes are eligible, from each node alone
  assigner  chooses one of several services that admit a node
  weighted  an assigner by values that each service advertises for itself"""
    examples = (
        'plugin new policy rack_affinity',
        'plugin new policy even_spread --kind assigner',
        'plugin new backend consul --directory /tmp/consul',
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        add = parser.add_argument
        add('role', choices=('policy', 'backend'), help='what it is to be')
        add(
            'name',
            metavar='NAME',
            help='what the configuration will call it: lower-case letters, '
            'digits and underscores',
        )
        add(
            '--kind',
            choices=[kind.value for kind in _KINDS],
            help='kind of policy (default: filter)',
        )
        add(
            '--directory',
            metavar='DIR',
            type=pathlib.Path,
            help='directory to make (default: ironic-ownership-NAME in the '
            'current one)',
        )

    def take_action(
        self, parsed_args: argparse.Namespace
    ) -> tuple[Sequence[str], Sequence[Any]]:
        new = _package(parsed_args)
        directory: pathlib.Path = (
            parsed_args.directory or pathlib.Path(new.distribution)
        ).absolute()
        _write(directory, new.files())
        self._directory, self._new = directory, new
        return (
            ('name', 'kind', 'directory', 'distribution', 'module', 'class'),
            (
                new.name,
                new.kind.value,
                str(directory),
                new.distribution,
                new.module,
                new.class_name,
            ),
        )

    def produce_output(
        self,
        parsed_args: argparse.Namespace,
        column_names: Sequence[str],
        data: Any,
    ) -> int:
        code = super().produce_output(parsed_args, column_names, data)
        if parsed_args.formatter == 'table':
            programs = _programs()
            self.app.stdout.write(
                _NEXT.format(
                    make='' if programs else _MAKE,
                    bin=programs or '.venv/bin',
                    directory=self._directory,
                    source=f'{self._new.module}/{self._new.role}.py',
                    check=self._new.check,
                )
            )
        return code


def _programs() -> str | None:
    """Return the programs of this virtual environment, if it is one.

    It has ironic-ownership, which another one would have to find on an index.
    """
    if sys.prefix == sys.base_prefix:
        return None
    return str(pathlib.Path(sys.prefix) / 'bin')


def _package(args: argparse.Namespace) -> package.Package:
    """Return the package that is asked for.

    :raises UsageError: if it can't be called so, or has no such kind.
    :raises OwnershipError: if a plugin or package that is installed is
        called so.
    """
    if args.role == 'backend' and args.kind:
        raise errors.UsageError(
            '--kind is for policies', hint='A backend has no kinds'
        )
    fault = package.fault_of(args.name)
    if fault:
        raise errors.UsageError(
            f'the name {args.name!r} {fault}', hint='Such as: rack_affinity'
        )
    kind = package.Kind(args.kind or package.Kind.FILTER)
    new = package.Package(
        package.Kind.BACKEND if args.role == 'backend' else kind, args.name
    )
    if importlib.util.find_spec(new.module) or any(
        e.name == new.name for e in plugins.entry_points(new.group)
    ):
        raise exceptions.OwnershipError(
            f'{new.name!r} is installed already, as a {new.role} or as '
            f'{new.distribution}',
            hint='Two of one name are refused, or replace each other: choose '
            f'another one. "ironic-ownership {new.role} list" shows all',
        )
    return new


def _write(directory: pathlib.Path, files: dict[str, str]) -> None:
    """Make the directory with these files, or leave nothing behind.

    :raises OwnershipError: if it can't be made, or exists.
    """
    try:
        directory.mkdir()
        try:
            for path, text in files.items():
                file = directory / path
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text, encoding='utf-8')
        except OSError:
            shutil.rmtree(directory, ignore_errors=True)
            raise
    except FileExistsError as exc:
        raise exceptions.OwnershipError(
            f'{directory} exists, and is left as it is',
            hint='Name another one with --directory',
        ) from exc
    except OSError as exc:
        raise exceptions.OwnershipError(
            f'{directory} cannot be written: {exc.strerror}',
            hint='Name a directory in one that exists and that this user may '
            'write to',
        ) from exc
