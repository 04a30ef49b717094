"""Gates: named checks that an operation must pass, and their results.

Every operation evaluates all of its gates, so that a refusal names everything
that is in the way. A gate that cannot be evaluated stops the operation.
"""

from __future__ import annotations

import dataclasses
import enum
import functools
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any, Generic, NamedTuple, Self, TypeVar

from ironic_ownership.contracts import exceptions

C = TypeVar('C')
T = TypeVar('T')

UNKNOWN_HINT = 'Remove the cause that the message names, and repeat this'
"""The action for a gate that could not be evaluated."""


class Outcome(enum.StrEnum):
    """The outcome of a gate; the codes are stable."""

    PASSED = 'passed'
    FAILED = 'failed'

    UNKNOWN = 'unknown'
    """It could not be evaluated, which stops the operation like a failure."""

    OVERRIDDEN = 'overridden'
    """It failed or is unknown, and the operator goes on regardless."""

    NOT_CONFIGURED = 'not_configured'
    """The deployment does not use what the gate checks: it stops nothing."""

    @property
    def passed(self) -> bool:
        """True if the operation goes on."""
        return self not in (Outcome.FAILED, Outcome.UNKNOWN)


class Found(NamedTuple):
    """The result of a check, if it is more than the cause of a failure.

    :param remaining: what is in the way, for a gate that counts things.
    """

    outcome: Outcome
    detail: str = ''
    remaining: tuple[str, ...] = ()


def unknown(reason: object) -> Found:
    """Return that a gate cannot be evaluated."""
    return Found(Outcome.UNKNOWN, f'cannot be evaluated: {reason}')


def _not_known(case: object) -> Found:
    return Found(Outcome.UNKNOWN, 'not known')


@dataclasses.dataclass(frozen=True, slots=True)
class GateResult:
    """The result of one gate.

    :param gate: the stable code of the gate.
    :param detail: what was seen, for the operator.
    :param remaining: what is in the way, for a gate that counts things.
    :param hint: the action after which the gate passes; empty if it does.
    """

    gate: str
    outcome: Outcome
    detail: str = ''
    remaining: tuple[str, ...] = ()
    hint: str = ''

    @property
    def passed(self) -> bool:
        """True if the gate lets the operation go on."""
        return self.outcome.passed


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Gate(Generic[C]):
    """One named check.

    :param code: stable: operators override gates by it, scripts read it.
    :param help: one phrase for operators: what has to be true.
    :param hint: the action after a failure, with attributes of the case in
        braces: ``{case.uuid}``.
    :param check: returns ``None`` if the case passes, or the cause of the
        failure, or more than that. Without one, the gate is unknown until
        its caller has found something.
    :param overridable: whether an operator may go on regardless.
    :param unknown_hint: the action if the gate cannot be evaluated.
    """

    code: str
    help: str
    hint: str
    check: Callable[[C], Found | str | None] = _not_known
    overridable: bool = False
    unknown_hint: str = UNKNOWN_HINT

    def result(
        self,
        case: C,
        found: Found | str | None,
        overrides: Collection[str] = (),
    ) -> GateResult:
        """Return the result for what was found."""
        if found is None:
            return _passed(self.code)
        if isinstance(found, str):
            found = Found(Outcome.FAILED, found)
        outcome, detail, remaining = found
        if outcome.passed:
            return GateResult(self.code, outcome, detail)
        if self.overridable and self.code in overrides:
            return GateResult(self.code, Outcome.OVERRIDDEN, detail)
        failed = outcome is Outcome.FAILED
        hint = (self.hint if failed else self.unknown_hint).format(case=case)
        return GateResult(self.code, outcome, detail, remaining, hint)


@functools.cache
def _passed(code: str) -> GateResult:
    # Shared: moves of many nodes have many of them.
    return GateResult(code, Outcome.PASSED)


def evaluate(
    gates: Iterable[Gate[C]], case: C, overrides: Collection[str] = ()
) -> tuple[GateResult, ...]:
    """Return the result of every gate, in their order.

    :param overrides: codes of gates that the operator overrides.
    """
    return tuple(
        gate.result(case, _found(gate, case), overrides) for gate in gates
    )


def _found(gate: Gate[C], case: C) -> Found | str | None:
    """Leave a gate unknown if what it reads is, such as the node in Ironic."""
    try:
        return gate.check(case)
    except exceptions.OwnershipError as exc:
        return unknown(exc)


def codes(gates: Iterable[Gate[Any]]) -> list[str]:
    """Return the codes of gates."""
    return [gate.code for gate in gates]


class Result(enum.StrEnum):
    """The result for one thing to change; the codes are stable."""

    PLANNED = 'planned'
    WOULD_DELETE = 'would_delete'
    WOULD_FORGET = 'would_forget'
    WOULD_RELEASE = 'would_release'
    DELETED = 'deleted'
    FORGOTTEN = 'forgotten'
    RELEASED = 'released'
    IMPORTED = 'imported'
    UNCHANGED = 'unchanged'
    """It was as it should be."""

    REFUSED = 'refused'
    """A gate forbids it."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Item:
    """One thing to change, with the result of every gate."""

    result: Result
    gates: tuple[GateResult, ...] = ()

    @property
    def refused(self) -> list[GateResult]:
        """The gates that forbid the change."""
        return refusals(self.gates)

    def refused_by(self, late: GateResult) -> Self:
        """Return it as refused by what was found after its gates."""
        gates = tuple(late if g.gate == late.gate else g for g in self.gates)
        return dataclasses.replace(self, result=Result.REFUSED, gates=gates)


def proposed(results: Iterable[GateResult], passed: Result) -> Result:
    """Return the result to propose: ``passed``, or that a gate refuses."""
    return Result.REFUSED if refusals(results) else passed


def table(gates: Sequence[Gate[Any]], *, marked: bool = False) -> str:
    """Return a line for each gate, for a help text.

    :param marked: whether those that can be overridden are marked.
    """
    return '\n'.join(
        f'  {g.code:<24}  {g.help}{" (*)" if marked and g.overridable else ""}'
        for g in gates
    )


def refusals(results: Iterable[GateResult]) -> list[GateResult]:
    """Return the results that stop the operation, in their order."""
    return [result for result in results if not result.passed]


Progress = Callable[[int, int], None]
"""Receives the number of things done, and of all of them."""


def shifted(progress: Progress, before: int, total: int) -> Progress:
    """Return the progress of a part of the work.

    :param before: number of things that were done before the part.
    :param total: of the whole.
    """
    return lambda done, _: progress(before + done, total)


Stopping = Callable[[], bool]
"""Tells whether the caller wants the operation to stop early."""


def no_progress(done: int, total: int) -> None:
    """Report nothing."""


def never_stopping() -> bool:
    """Return that the operation should go on."""
    return False


def batches(
    things: Sequence[T],
    size: int = 500,
    progress: Progress = no_progress,
    stopping: Stopping = never_stopping,
) -> Iterator[Sequence[T]]:
    """Yield things in batches, until the caller stops the operation.

    :param size: of a batch; the default is short enough for a transaction
        not to block other writers.
    :param progress: called after each batch.
    :param stopping: asked before each batch.
    """
    for start in range(0, len(things), size):
        if stopping():
            return
        batch = things[start:][:size]
        yield batch
        progress(start + len(batch), len(things))
