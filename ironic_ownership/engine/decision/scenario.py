"""Scenarios for ``preview``: members gone, joined or configured differently.

Pure: builds views and rows, from which peer groups are built as usual.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping, Sequence

from ironic_ownership.contracts import model
from ironic_ownership.engine.decision import policy_set
from ironic_ownership.engine.decision.peer_groups import PeerGroups


@dataclasses.dataclass(frozen=True)
class Situation:
    """The input of peer groups: members and rows of services."""

    view: model.View
    services: Sequence[model.Service]

    def peer_groups(self, interpret: policy_set.Interpreter) -> PeerGroups:
        """Build the peer groups."""
        return PeerGroups.of(self.view, self.services, interpret)


def without(situation: Situation, hosts: Collection[str]) -> Situation:
    """Return the situation after members died.

    Their rows stay, and so do peer lists that name them. A member without a
    row gets one.
    """
    members = situation.view.members
    known = {row.host for row in situation.services}
    return Situation(
        model.View.of(m for m in members if m.host not in hosts),
        [
            *situation.services,
            *(
                model.Service(m.host, settings=m.settings)
                for m in members
                if m.host in hosts and m.host not in known
            ),
        ],
    )


def joined_by(
    situation: Situation, host: str, settings: model.MemberSettings
) -> Situation:
    """Return the situation after another member registered, as the last one.

    An existing row of the host counts: a disabled service stays disabled.
    """
    members = situation.view.members
    latest = max((m.joined_at for m in members), default=0.0)
    newcomer = model.Member(host, 'preview', latest + 1.0, settings)
    others = (m for m in members if m.host != host)
    rows = {row.host: row for row in situation.services}
    rows[host] = dataclasses.replace(
        rows.get(host, model.Service(host)),
        fenced=False,
        incarnation=newcomer.incarnation,
    )
    return Situation(model.View.of((*others, newcomer)), tuple(rows.values()))


def joined_like(situation: Situation, host: str, like: str) -> Situation:
    """Return the situation with another member configured like ``like``.

    Peer lists that name ``like`` name the new member, too, for all members
    that advertise the list: without it the member would not even start.

    :param like: a live member.
    """
    member = situation.view.get(like)
    if member is None:
        raise ValueError(f'{like} is not a member')
    settings = _with_peers(member.settings, like, host)
    return joined_by(
        _reconfigured(situation, member.settings, settings), host, settings
    )


def all_running(
    situation: Situation, settings: Mapping[str, model.MemberSettings]
) -> Situation:
    """Return the situation with other settings of members.

    :param settings: by host; other members stay as they are.
    """
    return Situation(
        model.View.of(
            dataclasses.replace(m, settings=settings.get(m.host, m.settings))
            for m in situation.view.members
        ),
        situation.services,
    )


def _with_peers(
    settings: model.MemberSettings, like: str, host: str
) -> model.MemberSettings:
    return dataclasses.replace(
        settings,
        policies=tuple(
            model.PolicySettings(
                policy.name,
                tuple(
                    (name, _with_peer(value, like, host))
                    for name, value in policy.options
                ),
            )
            for policy in settings.policies
        ),
    )


def _with_peer(value: model.Value, like: str, host: str) -> model.Value:
    if not isinstance(value, tuple) or like not in value or host in value:
        return value
    return tuple(sorted((*value, host)))


def _reconfigured(
    situation: Situation, old: model.MemberSettings, new: model.MemberSettings
) -> Situation:
    def changed(settings: model.MemberSettings) -> model.MemberSettings:
        if settings.shared != old.shared:
            return settings
        return dataclasses.replace(new, values=settings.values)

    return Situation(
        model.View.of(
            dataclasses.replace(m, settings=changed(m.settings))
            for m in situation.view.members
        ),
        [
            dataclasses.replace(r, settings=changed(r.settings))
            for r in situation.services
        ],
    )
