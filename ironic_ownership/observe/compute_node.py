"""How compute nodes are shown: the columns of a finding."""

from __future__ import annotations

from typing import Any, Protocol

from ironic_ownership.contracts import availability, model, reasons
from ironic_ownership.observe import columns


class Finding(Protocol):
    """What is shown of a compute node; the survey of the engine makes it."""

    @property
    def uuid(self) -> str: ...  # noqa: D102 - the node's
    @property
    def state(self) -> str: ...  # noqa: D102 - see the survey
    @property
    def node(self) -> model.Node | None: ...  # noqa: D102 - in Ironic
    @property
    def record(self) -> model.ComputeNode | None: ...  # noqa: D102
    @property
    def decision(self) -> model.Decision | None: ...  # noqa: D102
    @property
    def owner_alive(self) -> bool | None: ...  # noqa: D102
    @property
    def verdict(self) -> availability.Verdict | None: ...  # noqa: D102


def place(finding: Finding) -> tuple[str | None, str]:
    """Return shard and conductor group: Ironic's, else those on record."""
    where = finding.node or finding.record
    return (where.shard, where.conductor_group) if where else (None, '')


def name(finding: Finding) -> str | None:
    """Return the name: Ironic's, else the one on record."""
    named = finding.node or finding.record
    return named.name if named else None


def owner(finding: Finding) -> str | None:
    """Return the service on record."""
    return finding.record.host if finding.record else None


def reason(finding: Finding) -> reasons.Reason:
    """Return why the node is decided as it is."""
    if finding.decision is None:
        return reasons.Reason.NODE_GONE
    return finding.decision.reason


def unavailable(finding: Finding) -> str | None:
    """Return the code that says why nothing can be scheduled to it."""
    code = finding.verdict.code if finding.verdict else None
    return code.value if code else None


def _instance(finding: Finding) -> str | None:
    if finding.node is not None:
        return finding.node.instance_uuid
    return finding.record.instance_uuid if finding.record else None


def _driver(finding: Finding) -> str | None:
    known = finding.node or finding.record
    return (known.driver if known else None) or None


def _of_node(attribute: str) -> columns.Column[Finding]:
    def cell(finding: Finding) -> Any:
        return getattr(finding.node, attribute, None)

    return columns.Column(attribute, cell)


def _contenders(finding: Finding) -> list[str]:
    return list(finding.decision.contenders) if finding.decision else []


_Column = columns.Column[Finding]
_IDENTITY = (
    _Column('uuid', lambda f: f.uuid),
    _Column('name', name),
    _Column('service', owner),
    _Column('state', lambda f: str(f.state)),
    _Column('instance_uuid', _instance),
    _Column('shard', lambda f: place(f)[0]),
    _Column('conductor_group', lambda f: place(f)[1]),
)
_REASON = (_Column('reason', lambda f: reason(f).value),)
_UNAVAILABLE = (_Column('unavailable', unavailable),)
_DECIDED = (
    _Column('decided_owner', lambda f: f.decision and f.decision.owner),
    _Column('wanted_by', lambda f: f.decision and f.decision.wanted_by),
    _Column('contenders', _contenders),
    _Column('service_alive', lambda f: f.owner_alive),
)

SHORT = _IDENTITY + _REASON + _UNAVAILABLE
"""What fits into a listing."""

LONG = (
    *SHORT,
    _Column('driver', _driver),
    _of_node('provision_state'),
    _of_node('maintenance'),
    *_DECIDED,
)
"""What a listing shows when asked for more."""

DETAILS = (
    *_IDENTITY,
    *_REASON,
    *_UNAVAILABLE,
    _Column(
        'unavailable_detail',
        lambda f: (f.verdict.detail if f.verdict else None) or None,
    ),
    _Column('explanation', lambda f: reasons.SUMMARY[reason(f)]),
    *_DECIDED,
    _Column('driver', _driver),
    _of_node('resource_class'),
    _of_node('provision_state'),
    _of_node('power_state'),
    _of_node('maintenance'),
    _of_node('reservation'),
    _of_node('retired'),
    _Column(
        'recorded_reason',
        lambda f: f.record.reason.value if f.record else None,
    ),
    _Column(
        'recorded_instance_uuid',
        lambda f: f.record.instance_uuid if f.record else None,
    ),
    _Column(
        'recorded_unavailable',
        lambda f: f.record.unavailable if f.record else None,
    ),
    _Column(
        'unavailable_since',
        lambda f: (
            columns.moment(f.record.unavailable_since) if f.record else None
        ),
    ),
    _Column(
        'recorded_at',
        lambda f: columns.moment(f.record.updated_at) if f.record else None,
    ),
)
"""Everything about one compute node."""
