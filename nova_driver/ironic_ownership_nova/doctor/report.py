"""An examination for people: short rows, and a report in Markdown."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

from ironic_ownership.api.schemas import Column
from ironic_ownership.contracts.texts import counted, listed
from ironic_ownership_nova.cell.check import Finding
from ironic_ownership_nova.doctor.advice import ADVICE
from ironic_ownership_nova.doctor.examination import Examination

_FEW = 3


def _summary(group: Sequence[Finding]) -> str:
    first, more = group[0], len(group) - 1
    named = listed(first.subjects, _FEW)
    text = f'{first.what}: {named}' if named else first.what
    return f'{text}. And {more} more: --long' if more else text


SHORT: tuple[Column[Any], ...] = (
    Column('code', lambda group: group[0].code),
    Column('count', lambda group: sum(len(one.subjects) for one in group)),
    Column('what', _summary),
    Column('hint', lambda group: group[0].hint),
)
"""One line for all findings of a code."""
MORE: tuple[Column[Any], ...] = (
    Column('nova', lambda found: ADVICE[found.code].nova),
    Column('repair', lambda found: ADVICE[found.code].repair),
)

_MOST = 20
"""Subjects and findings that are named; the JSON has them all."""


def by_code(findings: Sequence[Finding]) -> list[list[Finding]]:
    """Return the findings of each code."""
    ordered = sorted(findings, key=lambda found: found.code)
    groups = itertools.groupby(ordered, key=lambda found: found.code)
    return [[*group] for _, group in groups]


def nothing(done: Examination) -> str:
    """Return the words for an examination without findings."""
    return 'No problems found' + (' in what was read' if done.skipped else '')


def markdown(done: Examination) -> str:
    """Return the report."""
    return '\n'.join(_lines(done)) + '\n'


def _lines(done: Examination) -> Iterator[str]:
    yield '# Check of a Nova cell'
    yield ''
    for line in (*done.read, *done.skipped):
        yield f'* {line}'
    yield ''
    if not done.findings:
        yield f'{nothing(done)}.'
    for found in by_code(done.findings):
        yield from _section(found)


def _section(found: list[Finding]) -> Iterator[str]:
    code = found[0].code
    advice = ADVICE[code]
    yield f'## `{code}`: {counted(len(found), "finding")}'
    yield ''
    for title, text in (
        ('In Nova', advice.nova),
        ('With ironic-ownership', advice.repair),
    ):
        if text:
            yield f'**{title}:** {text}'
            yield ''
    for one in found[:_MOST]:
        yield f'* {one.what}'
        yield f'  * {_named(one.subjects)}'
        yield f'  * Now: {one.hint}'
    if len(found) > _MOST:
        yield f'* and {len(found) - _MOST} more'
    yield ''


def _named(subjects: tuple[str, ...]) -> str:
    return listed([f'`{name}`' for name in subjects], _MOST) or 'all nodes'
