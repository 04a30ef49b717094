"""Can something be scheduled to a node? Pure: nodes and conductors go in.

No clock but the one that is handed in, no IO. What the codes mean is in
``contracts.availability``; here is by which rule each is found, and how a
driver that comes and goes is kept from moving its nodes with it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping

from ironic_ownership.contracts import availability, exceptions, model

Code = availability.Unavailable
Place = tuple[str, str]
"""A driver, and the conductor group in which somebody has it."""

GOOD_PROVISION_STATES = frozenset((None, 'available'))
"""Ironic said "nothing" for available before its API 1.2."""

_CLEANING = frozenset(('cleaning', 'clean wait', 'clean failed', 'clean hold'))


@dataclasses.dataclass(frozen=True)
class Fleet:
    """The conductors of one moment, by what they can work on.

    :param living: places that a live conductor serves.
    :param dead: the conductors that served a place and are not alive.
    :param members: number of conductors that are alive.
    """

    living: frozenset[Place] = frozenset()
    dead: Mapping[Place, tuple[str, ...]] = dataclasses.field(
        default_factory=dict
    )
    members: int = 0

    @classmethod
    def of(cls, conductors: Iterable[model.Conductor]) -> Fleet:
        """Build a fleet that does not depend on the order of conductors."""
        living: set[Place] = set()
        dead: dict[Place, tuple[str, ...]] = {}
        members = 0
        for one in sorted(conductors, key=lambda c: c.hostname):
            places = {(driver, one.conductor_group) for driver in one.drivers}
            if one.alive:
                members += 1
                living |= places
            else:
                for place in places:
                    dead[place] = (*dead.get(place, ()), one.hostname)
        return cls(frozenset(living), dead, members)

    @property
    def all_gone(self) -> bool:
        """Whether no conductor is alive at all."""
        return not self.members

    @property
    def drivers(self) -> frozenset[str]:
        """The drivers that some live conductor has, in whatever group."""
        return frozenset(driver for driver, _ in self.living)

    @property
    def groups(self) -> frozenset[str]:
        """The conductor groups that have a live conductor with a driver."""
        return frozenset(group for _, group in self.living)

    def supports(self, driver: str, group: str) -> bool:
        """Tell whether a live conductor of that group has the driver."""
        return (driver, group) in self.living

    def needed(self, driver: str, group: str) -> tuple[str, ...]:
        """Return the dead conductors that had the driver in that group."""
        return self.dead.get((driver, group), ())


def evaluate(
    node: model.Node, fleet: Fleet | None = None
) -> availability.Evaluation:
    """Judge one node by what Ironic says of it and of its conductors.

    :param fleet: without it, or if none of its conductors is alive, nothing
        is concluded from conductors: the node is not to blame.
    """
    if fleet is not None and is_out_of_service(node, fleet):
        return _out_of_service(node, fleet)
    code, detail = _judge_state(node)
    if code is None:
        return availability.AVAILABLE
    return availability.Evaluation(code, detail)


def is_out_of_service(node: model.Node, fleet: Fleet | None) -> bool:
    """Tell whether others have conductors that are alive, and this has none.

    :param fleet: as for :func:`evaluate`.
    """
    return (
        fleet is not None
        and not fleet.all_gone
        and not fleet.supports(node.driver, node.conductor_group)
    )


def _out_of_service(node: model.Node, fleet: Fleet) -> availability.Evaluation:
    needed = fleet.needed(node.driver, node.conductor_group)
    return availability.Evaluation(
        Code.OUT_OF_SERVICE,
        f'driver {node.driver!r}, conductor group {node.conductor_group!r}, '
        + (f'dead: {", ".join(needed)}' if needed else 'nobody has it'),
    )


def _judge_state(node: model.Node) -> tuple[Code | None, str]:
    state = node.provision_state or 'none'
    if node.maintenance:
        return Code.MAINTENANCE, f'provision state {state}'
    if node.instance_uuid:
        held = node.provision_state in GOOD_PROVISION_STATES
        return (
            Code.RESERVED if held else Code.IN_USE,
            f'instance {node.instance_uuid}, provision state {state}',
        )
    if node.power_state == 'error':
        return Code.POWER_ERROR, f'provision state {state}'
    if node.provision_state in _CLEANING:
        return Code.CLEANING, f'provision state {state}'
    if node.retired:
        return Code.RETIRED, f'provision state {state}'
    if node.provision_state not in GOOD_PROVISION_STATES:
        return Code.PROVISION_STATE, f'provision state {state}'
    if node.power_state is None:
        return Code.POWER_UNKNOWN, 'no power state yet'
    return None, ''


def seen(
    node: model.Node, record: model.ComputeNode | None, fleet: Fleet | None
) -> availability.Evaluation:
    """Judge a node as whoever is not its owner sees it.

    It is for the owner to say when it is back in service.
    """
    verdict = evaluate(node, fleet)
    if verdict.code == Code.OUT_OF_SERVICE:
        return verdict
    if (
        record is not None
        and record.host is not None
        and record.unavailable == Code.OUT_OF_SERVICE
    ):
        return availability.Evaluation(
            Code.OUT_OF_SERVICE,
            f'{record.host} has not put it back into service',
        )
    return verdict


def check_in_service(node: model.Node, fleet: Fleet | None) -> None:
    """Refuse to act on a node that is out of service.

    :param fleet: as for :func:`evaluate`; here no conductor at all is one that
        is missing.
    :raises NodeOutOfServiceError: naming driver, group and conductors.
    """
    if fleet is None or fleet.supports(node.driver, node.conductor_group):
        return
    raise exceptions.NodeOutOfServiceError(
        node.uuid,
        node.driver,
        node.conductor_group,
        fleet.needed(node.driver, node.conductor_group),
    )


class Watch:
    """Remembers since when each place is served, so that flaps move nothing.

    A node goes out of service at once and comes back only after its driver
    was served in every look of some time. After nobody was alive at all, each
    driver has that time to come back before it is missed: conductors that
    are started again do not start all at once.

    Threading: one thread.

    :ivar recovery_delay: that time, in seconds.
    """

    def __init__(self, recovery_delay: float) -> None:
        self.recovery_delay = recovery_delay
        self._since: dict[Place, float] = {}
        self._fleet: Fleet | None = None
        self._now = 0.0
        self._none_lived_at: float | None = None

    def look(self, fleet: Fleet | None, now: float) -> None:
        """Take in who is alive now.

        :param fleet: ``None`` if that is not known; then, as when nobody is
            alive, no place counts as served all the time.
        :param now: seconds on a monotonic clock.
        """
        if fleet is not None and fleet.all_gone:
            fleet = None
            self._none_lived_at = now
        places = fleet.living if fleet else frozenset()
        self._fleet = fleet
        self._now = now
        self._since = {p: self._since.get(p, now) for p in places}

    def judge(
        self, node: model.Node, before: str | None
    ) -> availability.Evaluation:
        """Judge a node at the last look.

        :param before: the code on record: who is out of service stays so
            until it is certain that this is over.
        """
        verdict = evaluate(node, None if self._is_restart else self._fleet)
        if before != Code.OUT_OF_SERVICE or verdict.code == before:
            return verdict
        if self._fleet is None:
            return availability.Evaluation(
                Code.OUT_OF_SERVICE, 'as before: conductors are not known'
            )
        place = node.driver, node.conductor_group
        since = self._since.get(place, self._now)
        if self._now - since < self.recovery_delay:
            return availability.Evaluation(
                Code.OUT_OF_SERVICE,
                f'driver {node.driver!r} has not been back for '
                f'{self.recovery_delay:g} s yet',
            )
        return verdict

    @property
    def _is_restart(self) -> bool:
        """Whether nobody was alive a short while ago."""
        at = self._none_lived_at
        return at is not None and self._now - at < self.recovery_delay
