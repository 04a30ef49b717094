"""Runner of all checks.

Pure: evaluates one deployment. A part that could not be read is a problem that
names the skipped checks.
"""

from __future__ import annotations

from collections.abc import Sequence, Set

from ironic_ownership.contracts import exceptions
from ironic_ownership.engine.checks import (  # noqa: F401 - declare checks
    host_problems,
    node_problems,
    place_problems,
    service_problems,
)
from ironic_ownership.engine.checks.problem import (
    CHECKS,
    Kind,
    Problem,
    Severity,
)
from ironic_ownership.engine.queries.deployment import Deployment, Part

_ORDER = tuple(Severity)

CODES = frozenset(code for one in CHECKS for code in one.codes)
"""The codes of all findings but those of a companion; none is ever removed.
What does not answer has the code of its error instead."""


def check(
    seen: Deployment, left_out: Set[Part] = frozenset()
) -> list[Problem]:
    """Return all problems of a deployment, errors first.

    :param left_out: parts that were not to be read: the checks that need them
        are skipped, which is no problem.
    """
    # Not in the order in which their modules happen to be imported.
    checks = sorted(CHECKS, key=lambda one: one.find.__module__)
    checks += seen.companion.checks if seen.companion else ()
    problems: list[Problem] = []
    failed: dict[str, list[str]] = {}
    for one in checks:
        if one.needs & (seen.unread.keys() | left_out):
            continue
        try:
            problems.extend(one.find(seen, one))
        except exceptions.PluginFaultError as exc:
            failed.setdefault(str(exc), []).append(one.title)
    code = exceptions.PluginFaultError.code
    for what, titles in failed.items():
        problems.append(_unknown(code, what, 'policies', titles))
    for part, error in seen.unread.items():
        titles = [one.title for one in checks if part in one.needs]
        what = f'{part}: {" ".join(str(error).split())}'
        problems.append(_unknown(error.code, what, str(part), titles))
    return sorted(problems, key=lambda problem: _ORDER.index(problem.severity))


def _unknown(
    code: str, what: str, part: str, skipped: Sequence[str]
) -> Problem:
    number = len(skipped)
    were = f'{number} checks were' if number != 1 else 'One check was'
    return Problem(
        code,
        Severity.UNKNOWN,
        what,
        Kind.PART,
        (part,),
        hint=f'{were} skipped: {", ".join(skipped)}',
    )
