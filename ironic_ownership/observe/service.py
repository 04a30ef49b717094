"""Columns of services and members."""

from __future__ import annotations

from collections.abc import Sequence

from ironic_ownership.contracts import model
from ironic_ownership.contracts.conditions import ConditionReport
from ironic_ownership.engine.membership.member_listing import Reading
from ironic_ownership.engine.queries.service_status import ServiceStatus
from ironic_ownership.observe import columns

_Row = dict[str, columns.Cell]


def policies(settings: model.MemberSettings) -> list[str]:
    """Return the names of the policies, in their order."""
    return [policy.name for policy in settings.policies]


def options(settings: model.MemberSettings) -> _Row:
    """Return the advertised options that are set, by name.

    An option that two policies have is shown with the name of its policy
    before it.
    """
    return _by_name(settings.policies)


def member_values(settings: model.MemberSettings) -> _Row:
    """Return the values that are advertised for this member alone."""
    return _by_name(settings.values)


def _by_name(policies: Sequence[model.PolicySettings]) -> _Row:
    found = [
        (policy.name, name, columns.plain(value))
        for policy in policies
        for name, value in policy.options
        if value is not None
    ]
    names = [name for _, name, _ in found]
    return {
        name if names.count(name) == 1 else f'{policy}.{name}': value
        for policy, name, value in found
    }


def loops(report: ConditionReport | None) -> list[_Row]:
    """Return the condition of each loop; none if there is no report."""
    return [
        {
            'loop': one.loop,
            'succeeded_at': columns.moment(one.succeeded_at),
            'code': one.code,
            'error': one.error or None,
            'since': columns.moment(one.since),
            'ended': one.ended,
        }
        for one in (report.conditions if report else ())
    ]


_Column = columns.Column[ServiceStatus]

SHORT = (
    _Column('host', lambda s: s.row.host),
    _Column('alive', lambda s: s.alive),
    _Column('status', lambda s: 'disabled' if s.row.disabled else 'enabled'),
    _Column('forced_down', lambda s: s.row.forced_down),
    _Column('epoch', lambda s: s.row.epoch),
    _Column('nodes', lambda s: s.nodes),
    _Column('instances', lambda s: s.instances),
    _Column('conditions', lambda s: s.conditions),
)

_REST = (
    _Column('fenced', lambda s: s.row.fenced),
    _Column('standbys', lambda s: s.standbys if s.view_known else None),
    _Column('disabled_reason', lambda s: s.row.disabled_reason),
    _Column('registered_at', lambda s: columns.moment(s.row.registered_at)),
    _Column('policies', lambda s: policies(s.settings)),
    _Column('settings', lambda s: options(s.settings)),
    _Column('member_values', lambda s: member_values(s.settings)),
)

LONG = (
    *SHORT,
    _Column('free', lambda s: s.nodes - s.instances),
    _Column('unavailable', lambda s: s.unavailable),
    _Column('of_mean', lambda s: columns.rounded(s.of_mean)),
    *_REST,
)

DETAILS = (
    *SHORT,
    *_REST,
    _Column('incarnation', lambda s: s.member and s.member.incarnation),
    _Column(
        'joined_at',
        lambda s: columns.moment(s.member.joined_at) if s.member else None,
    ),
    _Column('contract_version', lambda s: s.settings.contract_version),
    _Column('view_checksum', lambda s: s.row.view_checksum),
    _Column('config_error', lambda s: s.row.config_error),
    _Column('loops', lambda s: loops(s.report)),
)

_Read = columns.Column[Reading]


def _of_process(key: str) -> columns.Column[Reading]:
    return _Read(key, lambda r: getattr(r.member.settings.process, key, None))


MEMBER = (
    _Read('host', lambda r: r.member.host),
    _Read('role', lambda r: r.role),
    _of_process('machine'),
    _of_process('pid'),
    _of_process('version'),
    _Read('last_heartbeat', lambda r: columns.moment(r.beaten_at)),
    _Read('incarnation', lambda r: r.member.incarnation),
    _Read('joined_at', lambda r: columns.moment(r.member.joined_at)),
    _Read('policies', lambda r: policies(r.member.settings)),
    _Read('settings', lambda r: options(r.member.settings)),
    _Read('member_values', lambda r: member_values(r.member.settings)),
    _Read('contract_version', lambda r: r.member.settings.contract_version),
    _Read('readable', lambda r: r.readable),
)
