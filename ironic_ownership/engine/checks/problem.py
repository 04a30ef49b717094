"""Problems that checks find, and how a check is declared."""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Callable, Iterable, Set

from ironic_ownership.contracts.texts import DescribedEnum
from ironic_ownership.engine.queries.deployment import Deployment, Part


class Severity(DescribedEnum):
    """Severity of a problem."""

    ERROR = 'error', 'nodes may not be served until an operator acts'
    WARNING = 'warning', 'may resolve itself, or become an error'
    UNKNOWN = 'unknown', 'could not be checked'
    NOTE = 'note', 'follows from your settings, and changes no exit code'


class Kind(enum.StrEnum):
    """Kind of the subjects of a problem."""

    NODE = 'node'
    SERVICE = 'service'
    SHARD = 'shard'
    CONDUCTOR_GROUP = 'conductor_group'
    CONDUCTOR = 'conductor'
    RESERVATION = 'reservation'
    PAUSE = 'pause'
    PART = 'part'


MEMBERS = frozenset((Part.MEMBERSHIP,))
STORED = frozenset((Part.RECORDS,))
RECORDED = frozenset((Part.RECORDS, Part.MEMBERSHIP))
IRONIC = frozenset((Part.IRONIC,))
PLACES = frozenset((Part.IRONIC, Part.MEMBERSHIP))
NODES = frozenset((Part.RECORDS, Part.IRONIC))
ALL = frozenset((Part.RECORDS, Part.IRONIC, Part.MEMBERSHIP))


@dataclasses.dataclass(frozen=True)
class Problem:
    """One problem of the deployment.

    :param code: stable, for scripts and alert rules.
    :param subjects: uuids, hosts or names, all of them, in order.
    :param services: hosts concerned, in addition to the subjects.
    :param hint: the action that resolves it.
    :param counted: number of subjects, if not all of them are named.
    """

    code: str
    severity: Severity
    what: str
    kind: Kind
    subjects: tuple[str, ...]
    services: tuple[str, ...] = ()
    hint: str = ''
    counted: int | None = None

    @property
    def count(self) -> int:
        """Number of subjects."""
        return len(self.subjects) if self.counted is None else self.counted


@dataclasses.dataclass(frozen=True)
class Check:
    """One check.

    :param needs: it is skipped if one of these parts does not answer.
    :param codes: of what it finds, as its severity unless a problem has
        another; the first one by default.
    :param find: receives the check, which makes the problems.
    """

    title: str
    needs: Set[Part]
    severity: Severity
    kind: Kind
    codes: tuple[str, ...]
    find: Find

    def __call__(
        self,
        what: str,
        subjects: Iterable[str],
        hint: str,
        services: Iterable[str] = (),
        *,
        code: str = '',
        severity: Severity | None = None,
    ) -> Problem:
        """Return a problem that the check has found.

        :param subjects: in any order. Services are those concerned as well.
        """
        names = tuple(sorted(subjects))
        return Problem(
            code or self.codes[0],
            severity or self.severity,
            what,
            self.kind,
            names,
            tuple(services) or (names if self.kind is Kind.SERVICE else ()),
            hint,
        )


Find = Callable[[Deployment, Check], Iterable[Problem]]
CHECKS: list[Check] = []
"""All checks but those of a companion, in the order of their modules."""


def check(
    title: str, needs: Set[Part], severity: Severity, kind: Kind, *codes: str
) -> Callable[[Find], Find]:
    """Declare a function as a check; see :class:`Check`."""

    def declare(find: Find) -> Find:
        CHECKS.append(Check(title, needs, severity, kind, codes, find))
        return find

    return declare
