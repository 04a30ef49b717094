"""How a planned switch between two processes of a service is shown."""

from __future__ import annotations

import dataclasses

from ironic_ownership.contracts import model
from ironic_ownership.observe import columns


@dataclasses.dataclass(frozen=True)
class Failover:
    """A service before and after ``service failover``.

    :param before: incarnation that was active.
    :param target: incarnation that was to become so.
    :param after: the service as it is now.
    """

    before: str | None
    target: str | None
    after: model.Service
    dry_run: bool
    request_id: str

    @property
    def done(self) -> bool:
        """Whether the process that was named is active."""
        return not self.after.fenced and self.after.incarnation == self.target


_Failover = columns.Column[Failover]

FAILOVER = (
    _Failover('host', lambda f: f.after.host),
    _Failover('from_incarnation', lambda f: f.before),
    _Failover('to_incarnation', lambda f: f.target),
    _Failover('done', lambda f: f.done),
    _Failover('epoch', lambda f: f.after.epoch),
    _Failover('dry_run', lambda f: f.dry_run),
    _Failover('request_id', lambda f: f.request_id),
)
"""The columns of a planned switch."""
