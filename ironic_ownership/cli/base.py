"""Base classes of the commands: arguments, client, columns, exit codes.

Rows are plain values under stable keys. Tables show them under headings and
in words; other formats have keys and values, for scripts.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import logging
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, cast

from cliff import display, lister, show
from cliff.formatters import base

from ironic_ownership.api import schemas
from ironic_ownership.api.operation import Operation, find_operation
from ironic_ownership.api.operation_client import OperationClient
from ironic_ownership.cli import deadline, errors, formatters, watch
from ironic_ownership.cli.arguments import Options, add, body_of, query_of
from ironic_ownership.contracts import exceptions, texts
from ironic_ownership.contracts.records import nodes_of

if TYPE_CHECKING:
    from ironic_ownership.wiring import Wiring

LOG = logging.getLogger(__name__)

T = TypeVar('T')
Table = tuple[Sequence[str], Iterable[Sequence[Any]]]
Record = tuple[Sequence[str], Sequence[Any]]

_OWNERS = frozenset(('compute_node', 'move', 'ring', 'service'))
"""Nouns whose commands show the pauses: what they show may not change."""


class Shown(display.DisplayCommandBase[base.FormatterT]):
    """A command that shows its result.

    :cvar operation: whose parameters are the arguments of the command.
    :cvar options: see :data:`arguments.Options`.
    :cvar limit: whether --limit is one of them, and its default.
    :cvar long: help of --long, if the command has it.
    :cvar flags: further ones that no operation has, and their help.
    :cvar watches: whether it has --watch.
    :cvar bar: the column, relative to a mean, that has bars on a terminal.
    :cvar program: the words before a command.
    :cvar examples: lines for the end of its help.
    :cvar uses_api: whether it calls operations, or runs locally only.
    :ivar text: replaces the cells, if it is not empty.
    :ivar nothing: text that replaces an empty table, if it is not empty.
    :ivar exit_code: of the program, unless an error is raised.
    :ivar remarks: what --watch shows below the table; ``None`` without it.
    """

    operation: ClassVar[str] = ''
    options: ClassVar[Options] = {}
    limit: ClassVar[int] = 0
    long: ClassVar[str] = ''
    flags: ClassVar[Mapping[str, str]] = {}
    watches: ClassVar[bool] = False
    bar: ClassVar[str] = ''
    program: ClassVar[str] = errors.PROG
    uses_api: ClassVar[bool] = True
    examples: ClassVar[tuple[str, ...]] = ()
    notes: ClassVar[str] = ''
    text = nothing = ''
    exit_code = errors.ExitCode.DONE
    remarks: list[str] | None = None

    @property
    def wiring(self) -> Wiring:
        """The objects behind the commands."""
        return cast('Wiring', cast(Any, self.app).wiring)

    @property
    def api(self) -> OperationClient:
        """The client of operations, as the options choose it."""
        return cast(OperationClient, cast(Any, self.app).api)

    @property
    def described(self) -> Operation:
        """The description of the operation."""
        return find_operation(self.operation)

    @property
    def deadline(self) -> deadline.Deadline | None:
        """The time limit of this run, if it has one."""
        return cast(deadline.Deadline | None, cast(Any, self.app).deadline)

    def say(self, text: str) -> None:
        """Write one line to standard error."""
        if self.remarks is not None:
            self.remarks.append(texts.printable(text))
            return
        self.app.stderr.write(f'{errors.PROG}: {texts.printable(text)}\n')

    def say_faults(
        self, faults: Sequence[str], what: str, *, skips: bool
    ) -> None:
        """Report the entries of the operator that cannot be used.

        :param what: of the entries, after their number.
        :param skips: whether to go on without them.
        :raises UsageError: if there are any and they are not skipped.
        """
        for fault in faults:
            self.say(fault)
        if faults and not skips:
            raise errors.UsageError(
                f'{len(faults)} {what}',
                hint='Correct them, or add --skip-invalid',
            )
        if faults:
            self.exit_code = errors.ExitCode.REFUSED

    def warn(self, body: Mapping[str, Any]) -> None:
        """Log what an answer remarks; warnings make the result degraded."""
        warnings, notes = body.get('warnings', ()), body.get('notes', ())
        for text in (*warnings, *notes):
            line = ' '.join(text.split())
            if self.remarks is None:
                LOG.warning('%s', line)
            else:
                self.say(line)
        if warnings:
            self.exit_code = errors.ExitCode.DEGRADED

    def words(self, cell: Any) -> Any:
        """Put a cell of a table into words."""
        return formatters.readable(cell)

    def get_epilog(self) -> str:
        """Return notes and examples.

        cliff would add the name of the distribution, and read the list of
        files of every installed one to find it.
        """
        lines = [f'  {self.program} {line}' for line in self.examples]
        shown = '\n'.join(['examples:', *lines]) if lines else ''
        return '\n\n'.join(filter(None, (self.notes, shown)))

    def long_keys(self) -> Sequence[str]:
        """Return the keys of all columns of the operation, if it has one."""
        return schemas.keys(self.described.columns) if self.operation else ()

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.formatter_class = argparse.RawDescriptionHelpFormatter
        formatters.correct_help(parser)
        if self.operation:
            add(parser, self.described, self.options, self.limit)
        if self.long:
            parser.add_argument('--long', action='store_true', help=self.long)
        if self.watches:
            parser.add_argument('--watch', **watch.OPTION)
        self.add_arguments(parser)
        for flag, text in self.flags.items():
            parser.add_argument(flag, action='store_true', help=text)
        return parser

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Add the arguments that no operation has."""

    def body(self, parsed_args: argparse.Namespace) -> dict[str, Any]:
        """Return the body of the request, if it has one."""
        return body_of(self.described, vars(parsed_args))

    def call(self, parsed_args: argparse.Namespace, **more: bool) -> Any:
        """Call the operation with the arguments, and return its answer.

        :param more: what else its body, or else its query, has.
        """
        one, given = self.described, vars(parsed_args)
        path = {p.name: given[p.name] for p in one.parameters}
        if one.body is None:
            query = {**query_of(one, given), **more}
            return self.api.call(one.name, path=path, query=query)
        body = {**self.body(parsed_args), **more}
        return self.api.call(one.name, path=path, body=body)

    def read(self, parsed_args: argparse.Namespace) -> Any:
        """Call the operation with the arguments, and show its warnings."""
        body = self.call(parsed_args)
        self.warn(body)
        return body

    def run(self, parsed_args: argparse.Namespace) -> int:
        """Run the command and return its exit code; that of cliff is 0."""
        if (interval := getattr(parsed_args, 'watch', None)) is None:
            self._once(parsed_args)
        else:
            watch.run(self, lambda: self._once(parsed_args), interval)
        return self.exit_code

    def _once(self, parsed_args: argparse.Namespace) -> None:
        super().run(parsed_args)
        if self.operation.partition(':')[0] in _OWNERS:
            self._say_pauses()

    def _say_pauses(self) -> None:
        # An older service has none, and the command itself has succeeded.
        with contextlib.suppress(exceptions.OwnershipError):
            for pause in self.api.call('pause:list')['pauses']:
                scope = nodes_of(pause['shard'], pause['conductor_group'])
                self.say(
                    f'automatic changes of owner are paused for {scope} until '
                    f'{pause["ends_at"]} by {pause["actor"]}: '
                    f'{pause["reason"]}'
                )

    def produce_output(
        self,
        parsed_args: argparse.Namespace,
        column_names: Sequence[str],
        data: Any,
    ) -> int:
        """Show the cells for people or for scripts, by the format."""
        text = self.text
        if self.nothing and parsed_args.formatter == 'table':
            data = list(data)
            text = '' if data else self.nothing
        if text:
            self.app.stdout.write(f'{text}\n')
            return 0
        for option in ('columns', 'sort_columns'):
            for name in getattr(parsed_args, option, ()):
                key = self._normalize_column_name(name)
                if key not in column_names:
                    long = key in self.long_keys()
                    raise errors.no_column(name, column_names, long)
        chosen, shown = parsed_args.formatter, column_names
        if chosen == 'table':
            shown = [formatters.heading(name) for name in column_names]
        bar = formatters.heading(self.bar)
        self.formatter = formatters.of(chosen, self.formatter, self.words, bar)
        return super().produce_output(parsed_args, shown, data)  # type: ignore[safe-super]


class Lister(Shown[base.ListFormatter], lister.Lister):
    """A command that shows many things of one kind.

    :cvar missing: warning if there are no things, if it is not empty.
    :cvar keys: of the columns, where the operation has others or is missing.
    """

    missing = ''
    keys: ClassVar[Sequence[str]] = ()

    def get_epilog(self) -> str:
        """Return the names of the columns, notes and examples."""
        keys = self.keys
        more: Sequence[str] = ()
        if self.operation and not keys:
            keys = schemas.keys(self.described.short) or self.long_keys()
            more = [k for k in self.long_keys() if k not in keys]
        text = f'columns: {", ".join(keys)}'
        if more:
            text += f'; with --long also {", ".join(more)}'
        return f'{textwrap.fill(text, 78)}\n\n{super().get_epilog()}'

    def take_action(self, parsed_args: argparse.Namespace) -> Table:
        body = self.read(parsed_args)
        items = items_of(body)
        if self.missing and not items:
            LOG.warning(self.missing)
        return self.rows(self.chosen(parsed_args), items)

    def chosen(
        self, parsed_args: argparse.Namespace
    ) -> Sequence[schemas.Column[Any]]:
        """Return the columns to show."""
        one = self.described
        return one.short if one.short and not parsed_args.long else one.columns

    @staticmethod
    def table(
        shown: Sequence[schemas.Column[T]], things: Iterable[T]
    ) -> Table:
        return schemas.keys(shown), [schemas.row(shown, t) for t in things]

    @staticmethod
    def rows(
        shown: Iterable[schemas.Column[Any]],
        items: Iterable[Mapping[str, Any]],
    ) -> Table:
        keys = schemas.keys(shown)
        # A service of an earlier release does not send what is newer.
        return keys, ([item.get(key) for key in keys] for item in items)

    def listed(self, name: str, query: Mapping[str, Any]) -> Iterator[Any]:
        """Call an operation that lists things, and yield them.

        Each page is read when it is needed. The first one is read now, so
        that nearly all errors come before the first line of output.
        """
        pages = self.api.pages(name, query=query)
        first = next(pages)
        self.warn(first)
        known = {*first.get('warnings', ())}

        def rest() -> Iterator[Any]:
            for page in pages:
                new = {*page.get('warnings', ())} - known
                self.warn({'warnings': sorted(new)})
                known.update(new)
                yield from items_of(page)

        return itertools.chain(items_of(first), rest())


class ShowOne(Shown[base.SingleFormatter], show.ShowOne):
    """A command that shows one thing.

    :cvar more: keys of the answer that are no columns.
    """

    more: ClassVar[Sequence[str]] = ()

    def take_action(self, parsed_args: argparse.Namespace) -> Record:
        return self.cells(
            self.described.columns, self.read(parsed_args), *self.more
        )

    @staticmethod
    def cells(
        shown: Iterable[schemas.Column[Any]],
        body: Mapping[str, Any],
        *more: str,
    ) -> Record:
        keys = (*dict.fromkeys((*schemas.keys(shown), *more)),)
        # As in a row of a list.
        return keys, [body.get(key) for key in keys]


def items_of(body: Mapping[str, Any]) -> Sequence[Any]:
    """Return the first list of an answer: what it is about."""
    return next(part for part in body.values() if isinstance(part, list))
