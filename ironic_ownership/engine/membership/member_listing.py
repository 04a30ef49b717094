"""List of members, with the role of each process for its host."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

from ironic_ownership.contracts import backend, exceptions, model
from ironic_ownership.contracts.conditions import Loop
from ironic_ownership.engine.decision import policy_set
from ironic_ownership.engine.ports import Records


@dataclasses.dataclass(frozen=True)
class Reading:
    """One member and its role.

    :param readable: whether this process can build its policies.
    :param active: whether it acts for its host; ``None`` if unknown.
    :param beaten_at: time of its last heartbeat, in seconds since the epoch;
        ``None`` if unknown.
    """

    member: model.Member
    readable: bool
    active: bool | None
    beaten_at: float | None = None

    @property
    def role(self) -> str:
        """The role for its host: active, standby or unknown."""
        if self.active is None:
            return 'unknown'
        return 'active' if self.active else 'standby'


def take(
    records: Callable[[], Records],
    store: backend.MembershipBackend,
    interpret: policy_set.Interpreter,
) -> tuple[Sequence[Reading], Sequence[str]]:
    """Read the members, and their roles from the records.

    :param records: opens the records; may fail.
    :returns: the members, and one sentence for each read that failed.
    :raises MembershipError: if the membership does not answer.
    """
    view = store.view()
    beaten_at: dict[str, float | None] = {}
    active: dict[str, str | None] | None = None
    doubts: Sequence[str] = ()
    try:
        active = {row.host: row.incarnation for row in records().services()}
        if any(m.incarnation not in view.beaten_at for m in view.members):
            # For stores that do not tell when a heartbeat was.
            beaten_at = {
                report.incarnation: beat.succeeded_at
                for report in records().condition_reports().values()
                if (beat := report.of(Loop.HEARTBEAT))
            }
    except exceptions.RecordsError as exc:
        doubts = (f'active processes are unknown: {exc}',)
    readings = [
        Reading(
            member,
            interpret(member.settings) is not None,
            None
            if active is None
            else active.get(member.host) == member.incarnation,
            view.beaten_at.get(member.incarnation)
            or beaten_at.get(member.incarnation),
        )
        for member in view.members
    ]
    return readings, doubts
