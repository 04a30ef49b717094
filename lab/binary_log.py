"""Committed transactions of a MariaDB server, read from its binary log.

What mysqlbinlog shows, as rows before and after each change. Knows nothing
of any table.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Iterator

Value = str | int | float | None
Columns = dict[int, Value]
"""Values of a row by the position of the column, from 1."""

_START = re.compile(r'^#\d{6} .*server id (\d+) .*\tGTID (\S+)')
_CHANGE = re.compile(r'^### (INSERT INTO|UPDATE|DELETE FROM) `(.+)`\.`(.+)`$')
_VALUE = re.compile(r'^###   @(\d+)=(.*)$')


@dataclasses.dataclass
class Change:
    """One row: ``before`` is ``None`` for an insertion, ``after`` if gone."""

    database: str
    table: str
    before: Columns | None = None
    after: Columns | None = None


@dataclasses.dataclass
class Transaction:
    """The changes that one transaction committed, in their order.

    :ivar server: id of the server where it was committed first.
    """

    gtid: str
    server: int
    changes: list[Change] = dataclasses.field(default_factory=list)


def transactions(shown: Iterable[str]) -> Iterator[Transaction]:
    """Yield the transactions of a log in the order of their commits.

    :param shown: lines of ``mysqlbinlog -v``.
    """
    current: Transaction | None = None
    row: Columns = {}
    for line in shown:
        if start := _START.match(line):
            if current is not None:
                yield current
            current = Transaction(start[2], int(start[1]))
        elif not line.startswith('###') or current is None:
            continue
        elif change := _CHANGE.match(line):
            current.changes.append(Change(change[2], change[3]))
        elif line.startswith('### WHERE'):
            row = current.changes[-1].before = {}
        elif line.startswith('### SET'):
            row = current.changes[-1].after = {}
        elif value := _VALUE.match(line):
            row[int(value[1])] = _value(value[2])
    if current is not None:
        yield current


def _value(text: str) -> Value:
    if text == 'NULL':
        return None
    if text.startswith("'"):
        return text[1:-1]
    # An integer without a sign is shown twice, as "-1 (18446744073709551615)".
    number = text.partition(' ')[0]
    return int(number) if re.fullmatch(r'-?\d+', number) else float(number)
