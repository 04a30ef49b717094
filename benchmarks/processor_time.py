"""Processor time of processes and their children, by the kernel's account."""

from __future__ import annotations

import collections
import contextlib
import os
import pathlib
from collections.abc import Iterable
from typing import NamedTuple

TICKS = os.sysconf('SC_CLK_TCK')
"""Clock ticks of a second."""


class Stat(NamedTuple):
    """One process, from ``/proc/PID/stat``.

    :param own: clock ticks that it has used itself.
    :param ended: clock ticks of its children that it has waited for.
    """

    pid: int
    name: str
    parent: int
    own: int
    ended: int
    started: int


def of_tree(pid: int | None) -> float:
    """Return the seconds of a process and of its living descendants."""
    found = stats()
    parent = next((one.parent for one in found if one.pid == pid), None)
    living = [one._replace(ended=0) for one in found]
    return sum(
        ticks / TICKS
        for one, ticks in totals(parent, living)
        if one.pid == pid
    )


def totals(
    parent: int | None, processes: Iterable[Stat]
) -> Iterable[tuple[Stat, int]]:
    """Return each child of a process, and the ticks of its whole tree."""
    children: dict[int | None, list[Stat]] = collections.defaultdict(list)
    for one in processes:
        children[one.parent].append(one)

    def total(one: Stat) -> int:
        inner = sum(total(child) for child in children[one.pid])
        return one.own + one.ended + inner

    return [(child, total(child)) for child in children[parent]]


def parsed(text: str) -> Stat:
    """Return the contents of a file ``stat``."""
    head, _, tail = text.rpartition(')')
    pid, _, name = head.partition(' (')
    fields = tail.split()
    own = int(fields[11]) + int(fields[12])
    ended = int(fields[13]) + int(fields[14])
    return Stat(int(pid), name, int(fields[1]), own, ended, int(fields[19]))


def stats() -> list[Stat]:
    """Return all processes of the machine."""
    found = []
    for path in pathlib.Path('/proc').glob('[0-9]*/stat'):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            found.append(parsed(path.read_text(errors='replace')))
    return found
