"""Availability of nodes for the scheduler, of the own ones in every refresh.

``contracts.reasons`` explains the codes; here is the rule behind each, and the
damping of drivers that come and go. Conductors are read once in a refresh,
regardless of the number of nodes. If that fails, the refresh goes on: a node
keeps the availability that cannot be evaluated without conductors.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence

from ironic_ownership.contracts import exceptions, model
from ironic_ownership.contracts.calls import Clock, monotonic
from ironic_ownership.contracts.reasons import Evaluation, Unavailable
from ironic_ownership.contracts.records import Change, Claim, Update
from ironic_ownership.engine.conditions import Conditions
from ironic_ownership.engine.ports import BareMetal

Place = tuple[str, str]
"""A driver, and the conductor group of a conductor that has it."""

GOOD_PROVISION_STATES = frozenset((None, 'available'))
"""Before its API 1.2, Ironic reported no state for available nodes."""

_CLEANING = frozenset(('cleaning', 'clean wait', 'clean failed', 'clean hold'))


@dataclasses.dataclass(frozen=True)
class Conductors:
    """The conductors of one moment, by driver and group.

    :param living: places that a live conductor serves.
    :param dead: the conductors that served a place and are not alive.
    :param all_gone: whether no conductor is alive.
    :param names: of all conductors, alive or not.
    :param outage_counts: whether every node is out of service while no
        conductor is alive.
    """

    living: frozenset[Place] = frozenset()
    dead: Mapping[Place, tuple[str, ...]] = dataclasses.field(
        default_factory=dict
    )
    all_gone: bool = True
    outage_counts: bool = True
    names: tuple[str, ...] = ()

    @classmethod
    def of(
        cls, found: Iterable[model.Conductor], *, outage_counts: bool = True
    ) -> Conductors:
        """Build the same from conductors in any order."""
        living: set[Place] = set()
        dead: dict[Place, tuple[str, ...]] = {}
        known = sorted(found, key=lambda c: c.hostname)
        for one in known:
            places = {(d, one.conductor_group) for d in one.drivers}
            if one.alive:
                living |= places
            else:
                for place in places:
                    dead[place] = (*dead.get(place, ()), one.hostname)
        names = tuple(one.hostname for one in known)
        all_gone = not any(one.alive for one in known)
        return cls(frozenset(living), dead, all_gone, outage_counts, names)

    @property
    def ignores_outage(self) -> bool:
        """True if no conductor is alive, and that changes no node."""
        return self.all_gone and not self.outage_counts

    @property
    def drivers(self) -> frozenset[str]:
        """The drivers of live conductors, in any group."""
        return frozenset(driver for driver, _ in self.living)

    @property
    def groups(self) -> frozenset[str]:
        """The conductor groups of live conductors that have a driver."""
        return frozenset(group for _, group in self.living)

    def supports(self, driver: str, group: str) -> bool:
        """Tell whether a live conductor of that group has the driver."""
        return (driver, group) in self.living

    def needed(self, driver: str, group: str) -> tuple[str, ...]:
        """Return the dead conductors that had the driver in that group."""
        return self.dead.get((driver, group), ())


def read_conductors(
    ironic: BareMetal,
) -> tuple[Conductors | None, exceptions.IronicError | None]:
    """Read the conductors, in one list, or return the error of that.

    Ironic may be too old, or its policy may show conductors to administrators
    only. Availability is then evaluated without them.
    """
    try:
        found = ironic.conductors()
        return Conductors.of(found, outage_counts=ironic.outage_counts), None
    except exceptions.IronicError as exc:
        return None, exc


def required_conductors(ironic: BareMetal) -> Conductors | None:
    """Return the conductors; ``None`` if Ironic does not show them.

    :raises IronicUnavailableError: if it does not answer.
    """
    found, error = read_conductors(ironic)
    if isinstance(error, exceptions.IronicUnavailableError):
        raise error
    return found


def evaluate(
    node: model.Node, conductors: Conductors | None = None
) -> Evaluation:
    """Evaluate one node by its state in Ironic and its conductors.

    :param conductors: ``None`` if they are not known: then no node is
        out of service.
    """
    if conductors is not None and is_out_of_service(node, conductors):
        return _out_of_service(node, conductors)
    return _evaluate_state(node)


def is_out_of_service(node: model.Node, conductors: Conductors | None) -> bool:
    """Tell whether no live conductor supports the node.

    Source: out-of-service: with all conductors dead every node is unavailable.

    :param conductors: as for :func:`evaluate`.
    """
    return (
        conductors is not None
        and not conductors.ignores_outage
        and not conductors.supports(node.driver, node.conductor_group)
    )


def _out_of_service(node: model.Node, conductors: Conductors) -> Evaluation:
    needed = conductors.needed(node.driver, node.conductor_group)
    return Evaluation(
        Unavailable.OUT_OF_SERVICE,
        f'driver {node.driver!r}, conductor group {node.conductor_group!r}, '
        + (f'dead: {", ".join(needed)}' if needed else 'no conductor has it'),
    )


def _evaluate_state(node: model.Node) -> Evaluation:
    state = f'provision state {node.provision_state or "none"}'
    if node.maintenance:
        return Evaluation(Unavailable.MAINTENANCE, state)
    if node.instance_uuid:
        held = node.provision_state in GOOD_PROVISION_STATES
        return Evaluation(
            Unavailable.RESERVED if held else Unavailable.IN_USE,
            f'instance {node.instance_uuid}, {state}',
        )
    if node.power_state == 'error':
        return Evaluation(Unavailable.POWER_ERROR, state)
    if node.provision_state in _CLEANING:
        return Evaluation(Unavailable.CLEANING, state)
    if node.retired:
        return Evaluation(Unavailable.RETIRED, state)
    if node.provision_state not in GOOD_PROVISION_STATES:
        return Evaluation(Unavailable.PROVISION_STATE, state)
    if node.power_state is None:
        return Evaluation(Unavailable.POWER_UNKNOWN, 'no power state yet')
    return Evaluation()


def evaluate_for_observer(
    node: model.Node,
    record: model.ComputeNode | None,
    conductors: Conductors | None,
) -> Evaluation:
    """Evaluate a node for a process that is not its owner.

    Only the owner puts a node back into service.
    """
    found = evaluate(node, conductors)
    if found.code == Unavailable.OUT_OF_SERVICE:
        return found
    if (
        record is not None
        and record.host is not None
        and record.unavailable == Unavailable.OUT_OF_SERVICE
    ):
        return Evaluation(
            Unavailable.OUT_OF_SERVICE,
            f'{record.host} has not put it back into service',
        )
    return found


def check_in_service(node: model.Node, conductors: Conductors | None) -> None:
    """Refuse to act on a node that is out of service.

    :param conductors: as for :func:`evaluate`.
    :raises NodeOutOfServiceError: naming driver, group and conductors.
    """
    if conductors is None or not is_out_of_service(node, conductors):
        return
    raise exceptions.NodeOutOfServiceError(
        node.uuid,
        node.driver,
        node.conductor_group,
        conductors.needed(node.driver, node.conductor_group),
    )


class FlapDamper:
    """Evaluates nodes over time, so that flapping conductors move nothing.

    A node goes out of service immediately. It comes back after its driver
    was present in every observation of the recovery delay. After an outage of
    all conductors that was ignored, each driver has the same time to come back
    before it is missed: restarted conductors do not all return at once.

    Threading: one thread.

    :ivar recovery_delay: in seconds.
    """

    def __init__(self, recovery_delay: float) -> None:
        self.recovery_delay = recovery_delay
        self._since: dict[Place, float] = {}
        self._conductors: Conductors | None = None
        self._now = self._before = 0.0
        self._outage_at: float | None = None

    def observe(self, conductors: Conductors | None, now: float) -> None:
        """Record the live conductors.

        :param conductors: ``None`` if they are not known; then, as when none
            is alive, every driver counts as interrupted.
        :param now: seconds on a monotonic clock.
        """
        if conductors is not None and conductors.ignores_outage:
            conductors = None
            self._outage_at = now
        places = conductors.living if conductors else frozenset()
        self._conductors = conductors
        self._before, self._now = self._now, now
        self._since = {p: self._since.get(p, now) for p in places}

    def evaluate(self, node: model.Node, before: str | None) -> Evaluation:
        """Evaluate a node at the last observation.

        :param before: the code on record: a node that is out of service
            stays so until that is certainly over.
        """
        at = self._outage_at
        is_restart = at is not None and self._now - at < self.recovery_delay
        found = evaluate(node, None if is_restart else self._conductors)
        if before != Unavailable.OUT_OF_SERVICE or found.code == before:
            return found
        if self._conductors is None:
            return Evaluation(
                Unavailable.OUT_OF_SERVICE,
                'unchanged: conductors are not known',
            )
        place = node.driver, node.conductor_group
        since = self._since.get(place, self._now)
        if self._now - since < self.recovery_delay:
            return Evaluation(
                Unavailable.OUT_OF_SERVICE,
                f'driver {node.driver!r} has been back for less than '
                f'{self.recovery_delay:g} s',
            )
        return found

    @property
    def is_settled(self) -> bool:
        """True if time changed no evaluation since the last observation."""
        settled_at = self._before - self.recovery_delay
        return self._conductors is not None and all(
            since <= settled_at
            for since in (*self._since.values(), self._outage_at)
            if since is not None
        )


@dataclasses.dataclass(eq=False)
class AvailabilityTracker:
    """Evaluates nodes for one service.

    Threading: the refresh thread only.

    :ivar conductors: at the last observation; ``None`` if not known.
    """

    ironic: BareMetal
    conditions: Conditions
    damper: FlapDamper
    clock: Clock = monotonic
    conductors: Conductors | None = None

    def observe(self, *, any_nodes: bool) -> bool:
        """Read the conductors, if there are any nodes.

        :returns: whether only nodes that are described differently, or have
            another record, since the last observation can be evaluated
            differently.
        """
        last = self.conductors
        self.conductors = self._read() if any_nodes else None
        self.damper.observe(self.conductors, self.clock())
        return (
            self.conductors is not None
            and self.conductors == last
            and self.damper.is_settled
        )

    def complete(
        self,
        host: str,
        changes: Sequence[Change],
        nodes: Sequence[model.Node],
        records: Mapping[str, model.ComputeNode],
    ) -> list[Change]:
        """Add availability to planned changes, by the last observation.

        :param changes: the planned changes; a node that is claimed or
            updated anyway costs no further write.
        :param nodes: those of the changes, and others to evaluate.
        :returns: these changes, and an update of every other own node whose
            availability differs from the record.
        """
        planned = {change.uuid: change for change in changes}
        completed: list[Change] = [
            change
            for change in changes
            if not isinstance(change, Claim | Update)
        ]
        for node in nodes:
            record, change = records.get(node.uuid), planned.get(node.uuid)
            before = record.unavailable if record else None
            if isinstance(change, Claim | Update):
                found = self.damper.evaluate(node, before)
                completed.append(
                    dataclasses.replace(change, availability=found)
                )
            elif change is None and record is not None and record.host == host:
                found = self.damper.evaluate(node, before)
                if found.code != before:
                    completed.append(Update(node, found))
        return completed

    def _read(self) -> Conductors | None:
        found, error = read_conductors(self.ironic)
        if found is None:
            self.conditions.report(
                'conductors',
                f'conductors cannot be read: {error}. Until then no '
                'node goes out of service or comes back',
                error,
            )
            return None
        self.conditions.clear('conductors', 'conductors are readable again')
        if found.all_gone:
            self.conditions.report(
                'no conductor',
                'none of the conductors of Ironic is alive: no node can be '
                + (
                    'managed. No node goes out of service because of that'
                    if found.ignores_outage
                    else 'managed, all nodes go out of service'
                ),
            )
        else:
            self.conditions.clear('no conductor', 'a conductor is alive again')
        return found
