"""Members as rows with a time to live, which notify of their changes."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import ClassVar

from ironic_ownership import contracts
from ironic_ownership_postgresql_membership import session

_CHANNEL = 'ironic_ownership_members'
_JOIN = """
WITH joined AS (
    INSERT INTO ironic_ownership_members AS known
        (cluster, host, incarnation, settings, joined_at, expires_at)
    SELECT %s, %s, %s, %s, {now}, {now} + %s * interval '1 second'
    ON CONFLICT (cluster, host, incarnation) DO UPDATE SET
        settings = excluded.settings,
        joined_at = CASE WHEN known.expires_at > {now}
            THEN known.joined_at ELSE excluded.joined_at END,
        expires_at = excluded.expires_at
    RETURNING 1
), expired AS (
    DELETE FROM ironic_ownership_members
    WHERE cluster = %s AND expires_at < {now} - interval '1 day'
        AND pg_try_advisory_xact_lock(hashtext(cluster))
)
SELECT pg_notify('{channel}', %s) FROM joined
"""
_BEAT = """
UPDATE ironic_ownership_members
SET expires_at = {now} + %s * interval '1 second'
WHERE cluster = %s AND host = %s AND incarnation = %s
    AND expires_at > {now} RETURNING 1
"""
_ADVERTISE = """
WITH changed AS (
    UPDATE ironic_ownership_members SET settings = %s
    WHERE cluster = %s AND host = %s AND incarnation = %s
    AND expires_at > {now} RETURNING 1
)
SELECT pg_notify('{channel}', %s) FROM changed
"""
_LEAVE = """
WITH gone AS (
    DELETE FROM ironic_ownership_members
    WHERE cluster = %s AND host = %s AND incarnation = %s RETURNING 1
)
SELECT pg_notify('{channel}', %s) FROM gone
"""
_ALIVE = """
SELECT host, incarnation, settings, extract(epoch FROM joined_at)::float8,
    extract(epoch FROM expires_at - {now})::float8
FROM ironic_ownership_members WHERE cluster = %s AND expires_at > {now}
ORDER BY host, incarnation
"""


class PostgreSQLBackend(contracts.MembershipBackend):
    """Keeps the members in a table of a PostgreSQL server."""

    contract_version = 2
    capabilities = frozenset(
        {
            contracts.Capability.SHARED,
            contracts.Capability.PERSISTENT,
            contracts.Capability.STORE_CLOCK,
            contracts.Capability.WATCH,
        }
    )
    options = (
        contracts.Option(
            'connection',
            contracts.OptionType.STRING,
            'What libpq connects with: a URI or "host=... dbname=...". The '
            'user creates the table in the first schema of its search path.',
            required=True,
            secret=True,
        ),
        contracts.Option(
            'cluster',
            contracts.OptionType.STRING,
            'Name of the deployment; several can share a database.',
            default='ironic',
        ),
    )
    now: ClassVar[str] = 'clock_timestamp()'
    """The clock of the members, in SQL."""

    def __init__(
        self,
        settings: Mapping[str, contracts.Value],
        *,
        member_ttl: float,
        call_timeout: float,
    ) -> None:
        super().__init__(
            settings, member_ttl=member_ttl, call_timeout=call_timeout
        )
        dsn = str(settings['connection'])
        self._cluster = str(settings['cluster'])
        self._own = self._cluster, '', ''
        # A view must not wait for a beat, nor either of them for a watch.
        self._member = session.Session(dsn)
        self._views = session.Session(dsn)
        self._watching = session.Session(dsn, f'LISTEN {_CHANNEL}')
        self._opened = 0
        self._last_seen: object = None

    def join(
        self, host: str, incarnation: str, settings: contracts.MemberSettings
    ) -> None:
        """Become a member, or renew the membership of this incarnation."""
        self._own = self._cluster, host, incarnation
        self._run(
            _JOIN,
            *self._own,
            settings.to_json(),
            self.member_ttl,
            self._cluster,
            self._cluster,
        )

    def beat(self) -> None:
        """Stay a member for another ``member_ttl``."""
        self._require(self._run(_BEAT, self.member_ttl, *self._own))

    def advertise(self, settings: contracts.MemberSettings) -> None:
        """Replace the settings that this member advertises."""
        self._require(
            self._run(
                _ADVERTISE, settings.to_json(), *self._own, self._cluster
            )
        )

    def leave(self) -> None:
        """Stop being a member."""
        self._run(_LEAVE, *self._own, self._cluster)

    def view(self) -> contracts.View:
        """Return the members alive now."""
        rows = self._alive(self._views)
        return contracts.View.of(
            (
                contracts.Member(
                    host=host,
                    incarnation=incarnation,
                    joined_at=joined_at,
                    settings=contracts.MemberSettings.from_json(settings),
                )
                for host, incarnation, settings, joined_at, _ in rows
            ),
            expires_in=min((row[4] for row in rows), default=None),
        )

    def watch(self, timeout: float) -> bool:
        """Wait for a notification, or for the next member to expire."""
        until = time.monotonic() + timeout
        rows = self._alive(self._watching, max(timeout, 0.1))
        seen = [row[:3] for row in rows]
        # What happened while nothing listened was not notified.
        missed = self._watching.opened != self._opened
        changed = missed or seen != self._last_seen
        self._opened, self._last_seen = self._watching.opened, seen
        if changed:
            return True
        next_expiry = min((row[4] for row in rows), default=timeout)
        left = until - time.monotonic()
        return self._watching.notified(min(left, next_expiry)) or (
            next_expiry <= left
        )

    def close(self) -> None:
        """Close the connections."""
        for one in (self._member, self._views, self._watching):
            one.close()

    def _run(
        self, statement: str, *values: object
    ) -> list[tuple[object, ...]]:
        return self._member.run(
            self.call_timeout, self._sql(statement), values
        )

    def _alive(
        self, where: session.Session, timeout: float | None = None
    ) -> list[tuple[str, str, str, float, float]]:
        limit = self.call_timeout if timeout is None else timeout
        found = where.run(limit, self._sql(_ALIVE), (self._cluster,))
        return [(a, b, c, d, e) for a, b, c, d, e in found]

    def _sql(self, statement: str) -> str:
        return statement.format(now=self.now, channel=_CHANNEL)

    def _require(self, rows: list[tuple[object, ...]]) -> None:
        if not rows:
            raise contracts.NotMemberError(
                f'{self._own[1] or "this process"} is not a member'
            )
