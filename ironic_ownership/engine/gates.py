"""Gates: named checks that an operation must pass, and their results.

Every operation evaluates all of its gates, so that a refusal names everything
that is in the way. A gate that cannot be evaluated stops the operation.
"""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Iterable

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


@dataclasses.dataclass(frozen=True, slots=True)
class GateResult:
    """The result of one gate.

    :param gate: the stable code of the gate.
    :param detail: what was seen, for the operator.
    :param remaining: what is in the way, for a gate that counts things.
    :param hint: the action after which the gate passes; empty if it does.
    """

    gate: enum.StrEnum
    outcome: Outcome
    detail: str = ''
    remaining: tuple[str, ...] = ()
    hint: str = ''

    @property
    def passed(self) -> bool:
        """True if the gate lets the operation go on."""
        return self.outcome.passed


def refusals(results: Iterable[GateResult]) -> list[GateResult]:
    """Return the results that stop the operation, in their order."""
    return [result for result in results if not result.passed]
