"""Allocation method of this Ironic, which depends on its version."""

from __future__ import annotations

from ironic_ownership.contracts import allocations, exceptions
from ironic_ownership.engine.decision import policy_set
from ironic_ownership.engine.reservations import eligibility, release


def method_for(
    policies: policy_set.PolicySet,
    allocations_of: release.AllocationsOf,
) -> allocations.Method | None:
    """Return the method for a service with these policies.

    :returns: ``None`` if its policies do not use reservations.
    :raises IronicTooOldError: as :func:`method_of`.
    """
    if policies.assigner is None or not policies.releases_free:
        return None
    fallback = policies.assigner.settings().get('fallback') or ''
    return method_of(str(fallback), allocations_of)


def method_of(
    fallback: str, allocations_of: release.AllocationsOf
) -> allocations.Method:
    """Return the method of this Ironic.

    Source: multiple-compute-hosts, "Other deployer impact": an Ironic that is
    too old needs another method, chosen by the operator.

    :param fallback: the method for an Ironic without allocations; may be
        empty.
    :raises IronicTooOldError: if the server lacks them, without a fallback.
    """
    try:
        allocations_of(allocations.Method.ALLOCATION).check()
    except exceptions.IronicTooOldError as exc:
        if not fallback:
            raise exceptions.IronicTooOldError(
                f'the policy {eligibility.POLICY!r} needs allocations: {exc}',
                hint='Upgrade Ironic, or set [policy_reservation] fallback = '
                f'{allocations.Method.INSTANCE_UUID}',
            ) from exc
        method = allocations.Method(fallback)
        allocations_of(method).check()
        return method
    return allocations.Method.ALLOCATION


class MethodCache:
    """Caches that Ironic has allocations, which no upgrade removes.

    Threading: any thread.
    """

    def __init__(self, allocations_of: release.AllocationsOf) -> None:
        self._allocations_of = allocations_of
        self._has_allocations = False

    def of(self, fallback: str) -> allocations.Method:
        """Return the method; see :func:`method_of`."""
        if self._has_allocations:
            return allocations.Method.ALLOCATION
        method = method_of(fallback, self._allocations_of)
        self._has_allocations = method is allocations.Method.ALLOCATION
        return method
