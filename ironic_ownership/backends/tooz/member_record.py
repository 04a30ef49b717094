"""The entry of a member in the store: an id that is used once, and its data.

The data of an id never changes, so a client reads it once, and stores that
cannot change data suffice. New settings need a new id with a higher revision:
both exist for a moment, and the higher one counts.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import urllib.parse
import uuid
from collections.abc import Iterable, Mapping

from ironic_ownership.contracts import member_settings, model

_KEY = 'ironic_ownership'

# Short names of keys and nodes; the rest is for the nonce.
_LONGEST_NAME = 120
_LONGEST_INCARNATION = 64


@dataclasses.dataclass(frozen=True)
class MemberRecord:
    """One membership of a process.

    :param revision: grows with every join and change of the process.
    """

    member: model.Member
    revision: int

    def new_id(self) -> bytes:
        """Return a new id: host and incarnation for people, and a nonce."""
        member = self.member
        host = urllib.parse.quote(member.host, safe='')[:_LONGEST_NAME]
        incarnation = urllib.parse.quote(member.incarnation, safe='')
        return '.'.join(
            (host, incarnation[:_LONGEST_INCARNATION], uuid.uuid4().hex[:16])
        ).encode('ascii')

    def to_data(self) -> dict[str, str]:
        return {
            _KEY: json.dumps(
                {
                    'host': self.member.host,
                    'incarnation': self.member.incarnation,
                    'joined_at': self.member.joined_at,
                    'revision': self.revision,
                    'settings': self.member.settings.to_json(),
                },
                sort_keys=True,
            )
        }

    @classmethod
    def from_data(cls, data: object) -> MemberRecord | None:
        """Read data of :meth:`to_data`; ``None`` for that of others."""
        text = data.get(_KEY) if isinstance(data, Mapping) else None
        if not isinstance(text, str):
            return None
        try:
            found = member_settings.strict_json(text)
            host, incarnation = found['host'], found['incarnation']
            if not (isinstance(host, str) and isinstance(incarnation, str)):
                return None
            return cls(
                model.Member(
                    host,
                    incarnation,
                    float(found['joined_at']),
                    _settings(found['settings']),
                ),
                int(found['revision']),
            )
        # Any client of the store may have written it.
        except Exception:  # noqa: BLE001
            return None


@functools.lru_cache(maxsize=64)
def _settings(text: str) -> model.MemberSettings:
    return model.MemberSettings.from_json(text)


def newest(records: Iterable[MemberRecord]) -> model.View:
    """Return the view of the newest record of each process."""
    chosen: dict[tuple[str, str], MemberRecord] = {}
    for record in sorted(records, key=lambda record: record.revision):
        chosen[record.member.host, record.member.incarnation] = record
    return model.View.of(record.member for record in chosen.values())
