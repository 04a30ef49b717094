"""Set a service: enabled or disabled, forced down or not."""

from __future__ import annotations

import dataclasses

from ironic_ownership.contracts import model
from ironic_ownership.contracts.records import Records
from ironic_ownership.engine import suggestions


@dataclasses.dataclass(frozen=True)
class Settings:
    """The settings that an operator decides; ``None`` stays as it is."""

    disabled: bool | None = None
    disabled_reason: str | None = None
    forced_down: bool | None = None


@dataclasses.dataclass(frozen=True)
class Change:
    """A service before and after an operator's decision.

    :param after: the service as it is now, or would be.
    """

    before: model.Service
    after: model.Service
    wanted: Settings

    @property
    def changed(self) -> list[str]:
        """The names of the settings that are not as before."""
        return [
            field.name
            for field in dataclasses.fields(Settings)
            if getattr(self.before, field.name)
            != getattr(self.after, field.name)
        ]


@dataclasses.dataclass(frozen=True)
class SetService:
    """Change the settings of a service. Asks the records only."""

    records: Records

    def propose(self, host: str, wanted: Settings) -> Change:
        """Return the change that the settings would make.

        :param host: name of the service; case does not count.
        :raises NotFoundError: with the nearest names.
        """
        rows = {row.host: row for row in self.records.services()}
        before = rows[suggestions.known_service(host, rows)]
        after = before.decided(**dataclasses.asdict(wanted))
        return Change(before, after, wanted)

    def execute(
        self,
        proposed: Change,
        *,
        actor: str,
        reason: str | None = None,
        request_id: str | None = None,
    ) -> Change:
        """Make the change; a proposal that changes nothing writes nothing.

        :param reason: why, for the event.
        :raises NotFoundError: if the service was deleted meanwhile.
        """
        if not proposed.changed:
            return proposed
        after = self.records.set_service(
            proposed.before.host,
            actor=actor,
            reason=reason,
            request_id=request_id,
            **dataclasses.asdict(proposed.wanted),
        )
        return dataclasses.replace(proposed, after=after)
