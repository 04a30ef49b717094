"""Own nodes that a scan did not list, and Ironic's answer for each.

A node is missing because its shard or group changed, or because it is gone.
Only Ironic's answer for the uuid itself tells, so each one is looked up; the
answer is cached for a while.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable

from ironic_ownership.contracts import inventory, model
from ironic_ownership.engine.deletion import gates
from ironic_ownership.engine.membership import fence

LOOKUPS_A_ROUND = 200
"""Nodes that a round may look up, however long that takes."""


@dataclasses.dataclass(frozen=True)
class Limits:
    """The lifetime of an answer, in seconds, and the limits of a loss.

    :param trusts_credential: whether the credential counts as seeing all nodes
        where Ironic cannot count them.
    """

    recheck_interval: float
    mass_loss_share: float
    mass_loss_minimum: int
    trusts_credential: bool = False


@dataclasses.dataclass(frozen=True)
class Findings:
    """The results for the own nodes that were not listed.

    :param elsewhere: nodes that Ironic has outside of the scope, as just
        looked up.
    :param remembered: uuids of those found there in an earlier round.
    :param gone: uuids for which Ironic just answered 404.
    :param unexplained: number of those not accounted for, the gone ones
        included.
    :param pending: number of those above the limit of one round.
    """

    elsewhere: tuple[model.Node, ...] = ()
    remembered: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()
    unexplained: int = 0
    pending: int = 0
    mass_loss: bool = False

    @property
    def looked_up(self) -> list[str]:
        """The uuids that this round asked Ironic for."""
        return [*(node.uuid for node in self.elsewhere), *self.gone]


class MissingNodes:
    """One service's cache of answers for its nodes that are not listed.

    Threading: the refresh thread only.

    :ivar limits: replaced when the configuration is reloaded.
    """

    def __init__(
        self,
        source: inventory.Inventory,
        limits: Limits,
        clock: fence.Clock = fence.monotonic,
    ) -> None:
        self._source = source
        self.limits = limits
        self._clock = clock
        self._recheck_at: dict[str, float] = {}
        self._gone: set[str] = set()

    def examine(
        self, missing: Collection[str], owned: int, seconds: float = 0.0
    ) -> Findings:
        """Look up those of the missing nodes that are due.

        :param owned: number of own nodes on record.
        :param seconds: in which more than :data:`LOOKUPS_A_ROUND` are looked
            up.
        :raises IronicError: if one request fails; earlier answers are kept.
        """
        self._forget_all_but(missing)
        elsewhere, gone = [], []
        interval = self.limits.recheck_interval
        due = self._due(missing)
        until = self._clock() + seconds
        asked = 0
        for uuid in due:
            if asked >= LOOKUPS_A_ROUND and self._clock() >= until:
                break
            asked += 1
            node = self._source.get(uuid)
            self._recheck_at[uuid] = self._clock() + interval
            if node is None:
                self._gone.add(uuid)
                gone.append(uuid)
            else:
                self._gone.discard(uuid)
                elsewhere.append(node)
            if self._is_mass_loss(len(self._gone), owned):
                break  # the others can't change the result
        explained = self._recheck_at.keys() - self._gone
        unexplained = len(set(missing) - explained)
        too_many_gone = self._is_mass_loss(len(self._gone), owned)
        return Findings(
            elsewhere=tuple(elsewhere),
            remembered=tuple(
                sorted(explained - {node.uuid for node in elsewhere})
            ),
            gone=tuple(gone),
            unexplained=unexplained,
            pending=0 if too_many_gone else len(due) - asked,
            mass_loss=self._is_mass_loss(unexplained, owned),
        )

    def ask_again(self, uuids: Iterable[str]) -> None:
        """Look these up again in the next round, as nothing was done yet.

        The cached answers count until then.
        """
        now = self._clock()
        for uuid in self._recheck_at.keys() & set(uuids):
            self._recheck_at[uuid] = now

    def ask_all_again(self) -> None:
        """Look all missing nodes up again in the next round."""
        self.ask_again(self._recheck_at)

    def _is_mass_loss(self, missing: int, owned: int) -> bool:
        return gates.is_mass_loss(
            missing,
            owned,
            self.limits.mass_loss_share,
            self.limits.mass_loss_minimum,
        )

    def _due(self, missing: Collection[str]) -> list[str]:
        """Return the uuids to look up, those never looked up first."""
        now, never = self._clock(), float('-inf')
        due = {
            uuid: self._recheck_at.get(uuid, never)
            for uuid in missing
            if self._recheck_at.get(uuid, never) <= now
        }
        return sorted(due, key=lambda uuid: (due[uuid], uuid))

    def _forget_all_but(self, missing: Collection[str]) -> None:
        for uuid in self._recheck_at.keys() - set(missing):
            del self._recheck_at[uuid]
        self._gone &= set(missing)
