"""Own nodes that a scan did not list, and Ironic's answer for each.

A node is missing because its shard or group changed, or because it is gone.
Only Ironic's answer for the uuid itself tells, so each one is looked up; the
answer is cached for a while. From all of them follow the gates that the
records of one owner share: mass loss, and visibility of nodes.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable, Mapping, Sequence

from ironic_ownership.contracts import exceptions, model
from ironic_ownership.contracts.calls import Clock, monotonic
from ironic_ownership.engine.deletion import gates
from ironic_ownership.engine.gates import Found, Outcome
from ironic_ownership.engine.ports import BareMetal

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

    def is_mass_loss(self, missing: int, owned: int) -> bool:
        """Tell whether more own nodes are missing than is plausible.

        :param missing: own nodes that Ironic neither lists nor returns.
        """
        return (
            missing > self.mass_loss_minimum
            and missing > self.mass_loss_share * owned
        )


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


@dataclasses.dataclass(eq=False)
class MissingNodes:
    """One service's cache of answers for its nodes that are not listed.

    Threading: the refresh thread only.

    :ivar limits: replaced when the configuration is reloaded.
    """

    ironic: BareMetal
    limits: Limits
    clock: Clock = monotonic

    def __post_init__(self) -> None:
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
        for uuid in self._recheck_at.keys() - set(missing):
            del self._recheck_at[uuid]
        self._gone &= set(missing)
        elsewhere, gone = [], []
        interval = self.limits.recheck_interval
        due = self._due(missing)
        until = self.clock() + seconds
        asked = 0
        for uuid in due:
            if asked >= LOOKUPS_A_ROUND and self.clock() >= until:
                break
            asked += 1
            node = self.ironic.get(uuid)
            self._recheck_at[uuid] = self.clock() + interval
            if node is None:
                self._gone.add(uuid)
                gone.append(uuid)
            else:
                self._gone.discard(uuid)
                elsewhere.append(node)
            if self.limits.is_mass_loss(len(self._gone), owned):
                break  # the others can't change the result
        explained = self._recheck_at.keys() - self._gone
        unexplained = len(set(missing) - explained)
        too_many_gone = self.limits.is_mass_loss(len(self._gone), owned)
        return Findings(
            elsewhere=tuple(elsewhere),
            remembered=tuple(
                sorted(explained - {node.uuid for node in elsewhere})
            ),
            gone=tuple(gone),
            unexplained=unexplained,
            pending=0 if too_many_gone else len(due) - asked,
            mass_loss=self.limits.is_mass_loss(unexplained, owned),
        )

    def ask_again(self, uuids: Iterable[str]) -> None:
        """Look these up again in the next round, as nothing was done yet.

        The cached answers count until then.
        """
        now = self.clock()
        for uuid in self._recheck_at.keys() & set(uuids):
            self._recheck_at[uuid] = now

    def ask_all_again(self) -> None:
        """Look all missing nodes up again in the next round."""
        self.ask_again(self._recheck_at)

    def _due(self, missing: Collection[str]) -> list[str]:
        """Return the uuids to look up, those never looked up first."""
        now, never = self.clock(), float('-inf')
        found = ((self._recheck_at.get(u, never), u) for u in missing)
        return [uuid for at, uuid in sorted(found) if at <= now]


TRUST_OPTION = '[ownership] trust_credential'


@dataclasses.dataclass
class Batch:
    """The evidence that all records evaluated together share.

    A service that did not answer once is not asked again for the same batch:
    each request could take its whole time-out.

    :ivar found: by the gates that all records share.
    :ivar silent: the error of each service that does not answer, by name.
    """

    found: dict[str, Found] = dataclasses.field(default_factory=dict)
    silent: dict[str, str] = dataclasses.field(default_factory=dict)

    def unknown(self, service: str, error: Exception) -> Found:
        """Return that a gate is unknown because of an error of a service."""
        if isinstance(error, _DOWN):
            self.silent[service] = str(error)
        return Found(Outcome.UNKNOWN, str(error))


_DOWN = (
    exceptions.IronicUnavailableError,
    exceptions.PlacementUnavailableError,
)


def evaluate(
    ironic: BareMetal,
    limits: Limits,
    scope: model.Scope,
    owned: Sequence[model.ComputeNode],
) -> Batch:
    """Evaluate the gates that all records of one owner share.

    One list, and one request for each of the owner's nodes that is not in
    it, as one record tells nothing about a mass loss. Law 4: with a shard in
    the scope only the shards of the records are listed.

    :param owned: every record of the owner.
    """
    batch = Batch()

    def listed() -> set[str]:
        shards: set[str | None] = {scope.shard}
        if scope.shard is not None:
            # Law 4: with a shard key set, every list names a shard.
            shards |= {record.shard for record in owned if record.shard}
        found: set[str] = set()
        sees_all = Found(Outcome.PASSED)
        for shard in sorted(shards, key=str):
            nodes = ironic.scan(model.Scope(shard=shard))
            found.update(node.uuid for node in nodes)
            if sees_all.outcome is Outcome.PASSED:
                sees_all = batch.found[gates.SEES_ALL_NODES] = compare_counts(
                    ironic,
                    shard,
                    len(nodes),
                    trusted=limits.trusts_credential,
                )
            if sees_all.outcome is Outcome.UNKNOWN:
                break  # the counts are not available
        return found

    try:
        missing = {record.uuid for record in owned} - listed()
        gone, is_lost = _look_up(ironic, limits, missing, len(owned))
    except exceptions.IronicError as exc:
        unknown = batch.unknown('ironic', exc)
        for gate in (gates.NO_MASS_LOSS, gates.SEES_ALL_NODES):
            batch.found.setdefault(gate, unknown)
        return batch
    host = (owned[0].host if owned else None) or 'no service'
    at_least = 'at least ' if is_lost else ''
    see = '; see [ownership] mass_loss_share' if is_lost else ''
    batch.found[gates.NO_MASS_LOSS] = gates.fact(
        not is_lost,
        f'{at_least}{gone} of {len(owned)} nodes of {host} are missing from '
        f'Ironic{see}',
    )
    return batch


def compare_counts(
    ironic: BareMetal,
    shard: str | None,
    listed: int,
    *,
    trusted: bool,
) -> Found:
    """Evaluate whether the credential sees every node.

    :param trusted: whether it counts as seen where Ironic cannot count: it is
        too old, or refuses this user. An outage stays unknown.
    :param listed: number of nodes listed there, without parts of other
        nodes; those are counted only if the number is too small.
    """
    try:
        counted = expected(ironic.shard_counts(), shard)
        if listed < counted:
            listed = ironic.count(model.Scope(shard=shard))
    except exceptions.IronicError as exc:
        is_outage = isinstance(exc, exceptions.IronicUnavailableError)
        if is_outage or not trusted:
            return Found(Outcome.UNKNOWN, str(exc))
        return gates.fact(True, f'not counted: {exc}; {TRUST_OPTION} is set')
    where = 'in all' if shard is None else f'in shard {shard}'
    return gates.fact(
        listed >= counted, f'{listed} nodes listed, {counted} counted {where}'
    )


def _look_up(
    ironic: BareMetal, limits: Limits, missing: set[str], owned: int
) -> tuple[int, bool]:
    """Ask for each node that was not listed, until a mass loss is certain."""
    memory = MissingNodes(
        ironic, dataclasses.replace(limits, recheck_interval=float('inf'))
    )
    gone = 0
    while True:
        found = memory.examine(missing, owned)
        gone += len(found.gone)
        if not found.pending:
            return gone, found.mass_loss


def expected(counts: Mapping[str | None, int], shard: str | None) -> int:
    """Return how many nodes a list of a shard, or of all, has.

    :param counts: Ironic's own, by shard, independent of the credential.
    """
    if shard is None:
        return sum(counts.values())
    # Ironic counts nodes without a shard under the same name.
    return counts.get(None if shard == 'None' else shard, 0)
