"""One small family of errors, each with a reason code and a hint.

The message names the fault and its place; ``hint`` tells the operator what
to do about it. The edges print both in one line and never a traceback.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from ironic_ownership.contracts import texts

_LONGEST = 5000
"""Most characters of a message, or of a hint: a plugin may raise these."""


class OwnershipError(Exception):
    """Root of every error this project raises on purpose.

    :param hint: what the operator can do about it.
    :cvar code: the reason code; public, and stable.
    :cvar http_status: 409 refused by a gate or a state, 503 an outage after
        which a later attempt may succeed, 502 an unusable answer.
    :cvar exit_code: of a command: 1 error, 2 usage, 3 refused, 4 unknown.
    :cvar detail_names: the attributes that programs receive.
    """

    code, http_status, exit_code = 'error', 500, 1
    detail_names: ClassVar[tuple[str, ...]] = ()

    def __init__(self, message: str, *, hint: str = '') -> None:
        super().__init__(texts.plain(message, _LONGEST))
        self.hint = texts.plain(hint, _LONGEST)

    def __str__(self) -> str:
        message = super().__str__()
        if not self.hint:
            return message
        end = '' if message.endswith(('.', '?')) else '.'
        return f'{message}{end} {self.hint}'

    @property
    def details(self) -> dict[str, Any]:
        """Details for programs, local or remote."""
        return {name: getattr(self, name) for name in self.detail_names}


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

    :param whose: the plugin, and its package if it has one.
    """

    code = 'plugin'

    def __init__(self, whose: str, cause: str, *, hint: str = '') -> None:
        self.cause = cause
        super().__init__(f'{whose}: {cause}', hint=hint)


class PluginFaultError(OwnershipError):
    """A plugin raised, or broke its contract by its answer."""

    code = 'plugin_fault'


class SourceError(OwnershipError):
    """A source of a policy of this service can't be read; it is retried."""

    code, http_status = 'source', 503


class MembershipError(OwnershipError):
    """Root of the errors of a membership backend."""

    code, http_status = 'membership', 503


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

    code, http_status = 'records_unavailable', 503


class SchemaError(RecordsError):
    """The database's schema is not the one this release works with."""

    code, http_status = 'schema', 503


class FencedError(RecordsError):
    """This process lost its right to write: its epoch is not the current.

    :param lasting: whether it gets that right again only if an operator or
        another process does something.
    """

    code, http_status, exit_code = 'fenced', 409, 3

    def __init__(
        self, message: str, *, hint: str = '', lasting: bool = False
    ) -> None:
        super().__init__(message, hint=hint)
        self.lasting = lasting


class StandbyError(RecordsError):
    """Another live process of the host is active: stand by for it.

    :param active: its incarnation.
    :param epoch: of the service.
    """

    code, http_status = 'standby', 409

    def __init__(self, host: str, active: str, epoch: int) -> None:
        self.host = host
        self.active = active
        self.epoch = epoch
        super().__init__(
            f'{host} is served by another process, incarnation {active}',
            hint='This one stands by and takes over when that one ends',
        )


class ServiceInUseError(RecordsError):
    """A service cannot be deleted while nodes or open instances name it."""

    code, http_status = 'service_in_use', 409

    def __init__(self, host: str, compute_nodes: int, instances: int) -> None:
        self.host = host
        self.compute_nodes = compute_nodes
        self.instances = instances
        super().__init__(
            f'service {host} still owns something (compute nodes: '
            f'{compute_nodes}, instances: {instances})',
            hint='Move them to other services first',
        )


class IronicError(OwnershipError):
    """Ironic answered with an error, or with something unusable."""

    code, http_status = 'ironic', 502


class IronicUnavailableError(IronicError):
    """Ironic cannot be reached or answers 5xx: nothing is known."""

    code, http_status = 'ironic_unavailable', 503


class AllocationConflictError(IronicError):
    """Ironic has an allocation for the instance that another client made."""

    code, http_status, exit_code = 'allocation_conflict', 409, 3


class AllocationInUseError(IronicError):
    """Ironic does not release the node: it is deployed, or being changed."""

    code, http_status, exit_code = 'allocation_in_use', 409, 3


class IronicTooOldError(IronicError):
    """Ironic cannot filter on the server by what is configured."""

    code = 'ironic_too_old'


class PlacementError(OwnershipError):
    """Placement answered with an error, or with something unusable."""

    code, http_status = 'placement', 502


class PlacementUnavailableError(PlacementError):
    """Placement cannot be reached or answers 5xx: nothing is known."""

    code, http_status = 'placement_unavailable', 503


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

    code, http_status = 'provider_in_use', 409


class NotificationError(OwnershipError):
    """The message broker did not accept a notification."""

    code, http_status = 'notifications_unavailable', 503


class NotOwnerError(OwnershipError):
    """The service does not own the node that it wants to act on.

    :param owner: the service that does; ``None`` if it is unowned.
    """

    code, http_status, exit_code = 'not_owner', 409, 3

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

    code, http_status, exit_code = 'other_instance', 409, 3

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

    code, http_status, exit_code = 'wrong_scope', 409, 3


class NodeOutOfServiceError(OwnershipError):
    """No conductor that is alive can work on the node.

    :param uuid: of the node.
    :param needed: conductors that had the driver in that group and are not
        alive, as far as Ironic still lists them.
    """

    code, http_status, exit_code = 'out_of_service', 409, 3
    detail_names = ('uuid', 'driver', 'conductor_group', 'needed')

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
        group = texts.group_named(conductor_group)
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

    code, http_status = 'not_found', 404


class RequestError(OwnershipError):
    """The client sent something that the operation does not take.

    :param faults: all faults, each with its place.
    """

    code, http_status, exit_code = 'invalid_request', 400, 2

    def __init__(self, faults: Sequence[str], *, hint: str = '') -> None:
        self.faults = tuple(faults)
        super().__init__('; '.join(self.faults), hint=hint)


class ReservationConflictError(OwnershipError):
    """The instance or the node has another reservation already."""

    code, http_status, exit_code = 'reservation_conflict', 409, 3


class ReservationUnfinishedError(OwnershipError):
    """A reservation, or its deletion, has begun and its result is unknown.

    The reservation is on record.
    """

    code, http_status, exit_code = 'reservation_unfinished', 503, 4
    detail_names = ('reservation_id',)

    def __init__(self, reservation_id: str, why: str, *, hint: str) -> None:
        self.reservation_id = reservation_id
        super().__init__(
            f'reservation {reservation_id} is not finished: {why}', hint=hint
        )


class ServiceRefusedError(OwnershipError):
    """The service cannot be given a node by a reservation."""

    code, http_status, exit_code = 'service_refused', 409, 3


SECRET = frozenset(('configuration', 'policy_settings', 'error'))
"""Codes of errors whose message may quote the configuration: for the log
only."""
