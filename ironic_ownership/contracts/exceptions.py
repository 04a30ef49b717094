"""One small family of errors, each with a reason code and a hint.

The message says what is wrong and where; ``hint`` says what the operator
can do about it. The edges print both in one line and never a traceback.
"""

from __future__ import annotations

from collections.abc import Sequence


class OwnershipError(Exception):
    """Root of every error this project raises on purpose.

    :param message: what is wrong, and where.
    :param hint: what the operator can do about it.
    """

    code = 'error'

    def __init__(self, message: str, *, hint: str = '') -> None:
        super().__init__(message)
        self.hint = hint

    def __str__(self) -> str:
        message = super().__str__()
        return f'{message}. {self.hint}' if self.hint else message


class ConfigurationError(OwnershipError):
    """The configuration cannot work; all faults found are listed at once."""

    code = 'configuration'

    def __init__(self, faults: Sequence[str], *, hint: str = '') -> None:
        self.faults = tuple(faults)
        super().__init__('; '.join(self.faults), hint=hint)


class PolicySettingsError(OwnershipError):
    """A policy was given options that it cannot accept."""

    code = 'policy_settings'


class PluginError(OwnershipError):
    """A plugin is missing, broken, ambiguous or breaks the contract.

    :param group: entry-point group it was looked for in.
    :param name: entry-point name.
    :param distribution: package and version that brings it, or ``None``.
    :param cause: what is wrong with it.
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
    """A plugin raised, or answered what its contract does not allow."""

    code = 'plugin_fault'


class MembershipError(OwnershipError):
    """Root of what a membership backend raises."""

    code = 'membership'


class BackendUnavailableError(MembershipError):
    """The membership store does not answer; nothing is known about it."""

    code = 'backend_unavailable'


class MemberExistsError(MembershipError):
    """Another live process serves this host name."""

    code = 'member_exists'


class NotMemberError(MembershipError):
    """This process is no longer, or not yet, a member: abandon and rejoin."""

    code = 'not_member'


class RecordsError(OwnershipError):
    """Root of what the records raise."""

    code = 'records'


class RecordsUnavailableError(RecordsError):
    """The database does not answer; nothing was changed as far as known."""

    code = 'records_unavailable'


class SchemaError(RecordsError):
    """The database's schema is not the one this release works with."""

    code = 'schema'


class FencedError(RecordsError):
    """This process lost its right to write: its epoch is not the current."""

    code = 'fenced'


class ServiceInUseError(RecordsError):
    """A service cannot be deleted: something still names it.

    :param compute_nodes: number of compute nodes that name it.
    :param instances: number of open instances that name it.
    """

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


class IronicTooOldError(IronicError):
    """Ironic cannot filter on the server by what is configured."""

    code = 'ironic_too_old'


class PlacementError(OwnershipError):
    """Placement answered with an error, or with something unusable."""

    code = 'placement'


class PlacementUnavailableError(PlacementError):
    """Placement cannot be reached or answers 5xx: nothing is known."""

    code = 'placement_unavailable'


class ProviderInUseError(PlacementError):
    """Somebody holds an allocation of the provider, so it has to stay."""

    code = 'provider_in_use'


class NotOwnerError(OwnershipError):
    """The service does not own the node that it wants to act on."""

    code = 'not_owner'


class WrongScopeError(OwnershipError):
    """The service's policies do not admit the node any more."""

    code = 'wrong_scope'


class NotFoundError(OwnershipError):
    """No such node, service or other object."""

    code = 'not_found'
