"""One small family of errors, each with a reason code and a hint.

The message names the fault and its place; ``hint`` tells the operator what
to do about it. The edges print both in one line and never a traceback.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ironic_ownership.contracts import foreign_errors

_LONGEST = 5000
"""Most characters of a message, or of a hint: a plugin may raise these."""


class OwnershipError(Exception):
    """Root of every error this project raises on purpose.

    :param hint: what the operator can do about it.
    """

    code = 'error'

    def __init__(self, message: str, *, hint: str = '') -> None:
        super().__init__(foreign_errors.plain(message, _LONGEST))
        self.hint = foreign_errors.plain(hint, _LONGEST)

    def __str__(self) -> str:
        message = super().__str__()
        if not self.hint:
            return message
        end = '' if message.endswith(('.', '?')) else '.'
        return f'{message}{end} {self.hint}'


class ConfigurationError(OwnershipError):
    """The configuration cannot work; the error lists all faults."""

    code = 'configuration'

    def __init__(self, faults: Sequence[str], *, hint: str = '') -> None:
        self.faults = tuple(faults)
        super().__init__('; '.join(self.faults), hint=hint)


class PolicySettingsError(OwnershipError):
    """A policy was given options that it cannot accept."""

    code = 'policy_settings'


class PluginError(OwnershipError):
    """A plugin is missing, broken, ambiguous or breaks the contract.

    :param group: of its entry point.
    :param distribution: name and version of its package, if it has one.
    """

    code = 'plugin'

    def __init__(
        self,
        group: str,
        name: str,
        distribution: str | None,
        cause: str,
        *,
        hint: str = '',
    ) -> None:
        self.group = group
        self.name = name
        self.distribution = distribution
        self.cause = cause
        where = f' from {distribution}' if distribution else ''
        super().__init__(f'{group}: {name!r}{where}: {cause}', hint=hint)


class PluginFaultError(OwnershipError):
    """A plugin raised, or broke its contract by its answer."""

    code = 'plugin_fault'


class SourceError(OwnershipError):
    """A source of a policy of this service can't be read; it is retried."""

    code = 'source'


class MembershipError(OwnershipError):
    """Root of the errors of a membership backend."""

    code = 'membership'


class BackendUnavailableError(MembershipError):
    """The membership store does not answer; nothing is known about it."""

    code = 'backend_unavailable'


class BackendFaultError(BackendUnavailableError):
    """A membership backend raised, or broke its contract by its answer.

    Nothing is known about the members, as in an outage of the store.
    """

    code = 'backend_fault'


class NotMemberError(MembershipError):
    """This process is no longer, or not yet, a member: abandon and rejoin."""

    code = 'not_member'


class RecordsError(OwnershipError):
    """Root of the errors of the records."""

    code = 'records'


class RecordsUnavailableError(RecordsError):
    """The database does not answer; nothing was changed as far as known."""

    code = 'records_unavailable'


class SchemaError(RecordsError):
    """The database's schema is not the one this release works with."""

    code = 'schema'


class FencedError(RecordsError):
    """This process lost its right to write: its epoch is not the current.

    :param lasting: whether it gets that right again only if an operator or
        another process does something.
    """

    code = 'fenced'

    def __init__(
        self, message: str, *, hint: str = '', lasting: bool = False
    ) -> None:
        super().__init__(message, hint=hint)
        self.lasting = lasting


class StandbyError(RecordsError):
    """Another live process of the host is active: stand by for it.

    :param active: its incarnation.
    """

    code = 'standby'

    def __init__(self, host: str, active: str) -> None:
        self.host = host
        self.active = active
        super().__init__(
            f'{host} is served by another process, incarnation {active}',
            hint='This one stands by and takes over when that one ends',
        )


class ServiceInUseError(RecordsError):
    """A service cannot be deleted while nodes or open instances name it."""

    code = 'service_in_use'

    def __init__(self, host: str, compute_nodes: int, instances: int) -> None:
        self.host = host
        self.compute_nodes = compute_nodes
        self.instances = instances
        super().__init__(
            f'service {host} still has {compute_nodes} compute nodes and '
            f'{instances} instances',
            hint='Move them to other services first',
        )


class IronicError(OwnershipError):
    """Ironic answered with an error, or with something unusable."""

    code = 'ironic'


class IronicUnavailableError(IronicError):
    """Ironic cannot be reached or answers 5xx: nothing is known."""

    code = 'ironic_unavailable'


class AllocationConflictError(IronicError):
    """Ironic has an allocation for the instance that another client made."""

    code = 'allocation_conflict'


class AllocationInUseError(IronicError):
    """Ironic does not release the node: it is deployed, or being changed."""

    code = 'allocation_in_use'


class IronicTooOldError(IronicError):
    """Ironic cannot filter on the server by what is configured."""

    code = 'ironic_too_old'


class PlacementError(OwnershipError):
    """Placement answered with an error, or with something unusable."""

    code = 'placement'


class PlacementUnavailableError(PlacementError):
    """Placement cannot be reached or answers 5xx: nothing is known."""

    code = 'placement_unavailable'


class ProviderBusyError(PlacementUnavailableError):
    """Other clients keep changing this one provider; a retry may succeed."""

    code = 'provider_busy'


class NoProviderError(PlacementError):
    """Placement has no provider of that uuid to write to."""

    code = 'no_provider'


class PlacementRefusedError(PlacementError):
    """Placement refuses what was written for this one provider."""

    code = 'placement_refused'


class ProviderInUseError(PlacementError):
    """A consumer has an allocation of the provider, so it has to stay."""

    code = 'provider_in_use'


class NotificationError(OwnershipError):
    """The message broker did not accept a notification."""

    code = 'notifications_unavailable'


class NotOwnerError(OwnershipError):
    """The service does not own the node that it wants to act on.

    :param owner: the service that does; ``None`` if it is unowned.
    """

    code = 'not_owner'

    def __init__(
        self, message: str, *, hint: str = '', owner: str | None = None
    ) -> None:
        super().__init__(message, hint=hint)
        self.owner = owner


class OtherInstanceError(OwnershipError):
    """The node has another instance than the caller requires, or none.

    :param wanted: uuid of the instance; empty if there may be none.
    :param found: that of the instance on the node; ``None`` without one.
    """

    code = 'other_instance'

    def __init__(self, uuid: str, wanted: str, found: str | None) -> None:
        self.uuid = uuid
        self.wanted = wanted
        self.found = found
        has = f'the instance {found}' if found else 'no instance'
        super().__init__(
            f'the node {uuid} has {has}, and not {wanted or "none"}',
            hint='Look up which node has the instance, or choose another one',
        )


class WrongScopeError(OwnershipError):
    """The service's policies do not admit the node any more."""

    code = 'wrong_scope'


class NodeOutOfServiceError(OwnershipError):
    """No conductor that is alive can work on the node.

    :param uuid: of the node.
    :param needed: conductors that had the driver in that group and are not
        alive, as far as Ironic still lists them.
    """

    code = 'out_of_service'

    def __init__(
        self,
        uuid: str,
        driver: str,
        conductor_group: str,
        needed: Sequence[str] = (),
    ) -> None:
        self.uuid = uuid
        self.driver = driver
        self.conductor_group = conductor_group
        self.needed = tuple(needed)
        group = (
            f'conductor group {conductor_group!r}'
            if conductor_group
            else 'the default conductor group'
        )
        super().__init__(
            f'the node {uuid} is out of service: no conductor that is alive '
            f'has the driver {driver!r} in {group}',
            hint=(
                f'Start one of these conductors: {", ".join(self.needed)}'
                if self.needed
                else f'Start a conductor in {group} that enables {driver!r}'
            ),
        )


class NotFoundError(OwnershipError):
    """No such node, service or other object."""

    code = 'not_found'


class RequestError(OwnershipError):
    """A request for a reservation cannot be understood.

    :param faults: all faults, each with its place.
    """

    code = 'invalid_request'

    def __init__(self, faults: Sequence[str], *, hint: str = '') -> None:
        self.faults = tuple(faults)
        super().__init__('; '.join(self.faults), hint=hint)


class ReservationConflictError(OwnershipError):
    """The instance or the node has another reservation already."""

    code = 'reservation_conflict'


class ReservationUnfinishedError(OwnershipError):
    """A reservation, or its deletion, has begun and its result is unknown.

    The reservation is on record.
    """

    code = 'reservation_unfinished'

    def __init__(self, reservation_id: str, why: str, *, hint: str) -> None:
        self.reservation_id = reservation_id
        super().__init__(
            f'reservation {reservation_id} is not finished: {why}', hint=hint
        )


class ServiceRefusedError(OwnershipError):
    """The service cannot be given a node by a reservation."""

    code = 'service_refused'


class NoMatchError(OwnershipError):
    """No free node fits a request.

    :param nodes: number of nodes that were checked.
    :param removed: number of nodes that each condition removed, in order.
    """

    code = 'no_match'

    def __init__(
        self, nodes: int, removed: Mapping[str, int], *, hint: str = ''
    ) -> None:
        self.nodes = nodes
        self.removed = dict(removed)
        counts = ', '.join(f'{name} {n}' for name, n in self.removed.items())
        super().__init__(
            f'no free node fits: of {nodes} nodes, these were removed by each '
            f'condition: {counts or "none"}',
            hint=hint,
        )
