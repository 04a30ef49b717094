"""How the deletion of compute nodes is shown: its gates, and its result."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Protocol

from ironic_ownership.contracts import model
from ironic_ownership.observe import columns

DELETED, REFUSED, WOULD_DELETE = 'deleted', 'refused', 'would_delete'


class Judgement(Protocol):
    """One gate of a deletion; the engine makes it."""

    @property
    def gate(self) -> str: ...  # noqa: D102 - its code
    @property
    def verdict(self) -> str: ...  # noqa: D102 - a code, too
    @property
    def evidence(self) -> str: ...  # noqa: D102 - what it comes from
    @property
    def passed(self) -> bool: ...  # noqa: D102 - by the deletion


@dataclasses.dataclass(frozen=True)
class Judged:
    """One gate of one compute node."""

    record: model.ComputeNode
    judgement: Judgement


@dataclasses.dataclass(frozen=True)
class Result:
    """What became of one compute node.

    :param result: one of this module's codes.
    :param provider_deleted: whether its provider went with it.
    """

    record: model.ComputeNode
    result: str
    judgements: Sequence[Judgement]
    provider_deleted: bool = False

    @property
    def failed(self) -> list[Judgement]:
        """The gates that were not passed."""
        return [j for j in self.judgements if not j.passed]


GATES = (
    columns.Column[Judged]('uuid', lambda j: j.record.uuid),
    columns.Column[Judged]('name', lambda j: j.record.name),
    columns.Column[Judged]('service', lambda j: j.record.host),
    columns.Column[Judged]('gate', lambda j: str(j.judgement.gate)),
    columns.Column[Judged]('verdict', lambda j: str(j.judgement.verdict)),
    columns.Column[Judged]('evidence', lambda j: j.judgement.evidence),
)
"""One line a gate."""

RESULTS = (
    columns.Column[Result]('uuid', lambda r: r.record.uuid),
    columns.Column[Result]('name', lambda r: r.record.name),
    columns.Column[Result]('service', lambda r: r.record.host),
    columns.Column[Result]('result', lambda r: r.result),
    columns.Column[Result]('provider_deleted', lambda r: r.provider_deleted),
    columns.Column[Result](
        'failed_gates', lambda r: [str(j.gate) for j in r.failed]
    ),
    columns.Column[Result](
        'evidence', lambda r: '; '.join(j.evidence for j in r.failed) or None
    ),
)
"""One line a compute node."""
