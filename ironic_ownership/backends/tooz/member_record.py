"""What a member leaves in the store: an id that is never used again, data.

The data of an id never changes, so whoever has read it once need not read
it again, and stores that cannot change data will do. Other settings are
another id, with a higher revision: both are there for a moment, and the
higher one counts.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import urllib.parse
import uuid
from collections.abc import Iterable, Mapping

from ironic_ownership.contracts import model

_KEY = 'ironic_ownership'

# memcached allows 250 bytes with its prefix; the rest is for the nonce.
_LONGEST_NAME = 120
_LONGEST_INCARNATION = 64


@dataclasses.dataclass(frozen=True)
class Advert:
    """One membership of a process.

    :param revision: grows with every join and change of the process.
    """

    member: model.Member
    revision: int

    def new_id(self) -> bytes:
        """Return an id for it: who it is, for people, and a nonce."""
        member = self.member
        host = urllib.parse.quote(member.host, safe='')[:_LONGEST_NAME]
        incarnation = urllib.parse.quote(member.incarnation, safe='')
        return '.'.join(
            (host, incarnation[:_LONGEST_INCARNATION], uuid.uuid4().hex[:16])
        ).encode('ascii')

    def to_data(self) -> dict[str, str]:
        """Return what the store is to keep with the id."""
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
    def from_data(cls, data: object) -> Advert | None:
        """Read what :meth:`to_data` made; ``None`` if it is none of ours."""
        text = data.get(_KEY) if isinstance(data, Mapping) else None
        if not isinstance(text, str):
            return None
        try:
            found = json.loads(text)
            return cls(
                model.Member(
                    str(found['host']),
                    str(found['incarnation']),
                    float(found['joined_at']),
                    _settings(found['settings']),
                ),
                int(found['revision']),
            )
        except (ValueError, TypeError, KeyError):
            return None


@functools.lru_cache(maxsize=64)
def _settings(text: str) -> model.MemberSettings:
    """Read settings; most members have the same few."""
    return model.MemberSettings.from_json(text)


def newest(adverts: Iterable[Advert]) -> model.View:
    """Return the view of what is advertised: the last word of each process."""
    chosen: dict[tuple[str, str], Advert] = {}
    for advert in sorted(adverts, key=lambda a: a.revision):
        chosen[advert.member.host, advert.member.incarnation] = advert
    return model.View.of(advert.member for advert in chosen.values())
