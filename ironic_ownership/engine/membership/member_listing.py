"""The members, and which process of each host is the active one."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

from ironic_ownership.contracts import backend, exceptions, model
from ironic_ownership.contracts.records import Records
from ironic_ownership.engine.decision import policy_set


@dataclasses.dataclass(frozen=True)
class Reading:
    """One member, and whether this process can read its settings.

    :param active: whether it acts for its host; ``None`` if that is not
        known.
    """

    member: model.Member
    readable: bool
    active: bool | None

    @property
    def role(self) -> str:
        """What it is to its host: active, standby or unknown."""
        if self.active is None:
            return 'unknown'
        return 'active' if self.active else 'standby'


@dataclasses.dataclass(frozen=True)
class Found:
    """All members, and what about them is not known.

    :param doubts: one sentence for each thing that could not be read.
    """

    readings: Sequence[Reading]
    doubts: tuple[str, ...] = ()


def take(
    records: Callable[[], Records],
    source: backend.MembershipBackend,
    interpret: policy_set.Interpreter,
) -> Found:
    """Return the members; who is active is told by the records.

    :param records: opens them; they may fail.
    :raises MembershipError: if the membership does not answer.
    """
    members = source.view().members
    active: dict[str, str | None] | None = None
    doubts: tuple[str, ...] = ()
    try:
        active = {row.host: row.incarnation for row in records().services()}
    except exceptions.RecordsError as exc:
        doubts = (f'who is active is unknown: {exc}',)
    return Found(
        [
            Reading(
                member,
                interpret(member.settings) is not None,
                None
                if active is None
                else active.get(member.host) == member.incarnation,
            )
            for member in members
        ],
        doubts,
    )
