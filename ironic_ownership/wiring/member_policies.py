"""Policies of members, built from the settings that they advertise."""

from __future__ import annotations

import dataclasses
import functools

from ironic_ownership import plugins
from ironic_ownership.contracts import foreign_errors, model
from ironic_ownership.contracts.calls import KeyedCalls
from ironic_ownership.engine.decision import policy_set
from ironic_ownership.engine.decision.known_scope import KnownScope

BUILD_LIMIT = 10.0
"""Seconds that the policies of a member may take to be built."""

_builds: KeyedCalls[policy_set.PolicySet] = KeyedCalls()


_MOST_SCOPES = 500
_scopes: dict[model.MemberSettings, KnownScope] = {}
"""Scopes of members, by their settings."""


def interpret(advertised: model.MemberSettings) -> policy_set.PolicySet | None:
    """Build the policies of any member from what it advertises.

    :returns: ``None`` if this process can't build them: another contract
        version, or a policy that is not installed, fails or hangs.
    """
    if advertised.contract_version not in model.SUPPORTED_VERSIONS:
        return None
    try:
        names = [policy.name for policy in advertised.policies]
        if all(plugins.is_own(plugins.POLICIES, name) for name in names):
            return _built(advertised)
        with foreign_errors.exit_refused():
            return _builds.result(
                advertised, functools.partial(_built, advertised), BUILD_LIMIT
            )
    except BaseException as exc:  # third-party code and options
        if foreign_errors.is_interrupt(exc):
            raise
        return None


def _built(advertised: model.MemberSettings) -> policy_set.PolicySet:
    classes = plugins.policies(p.name for p in advertised.policies)
    built = policy_set.PolicySet.of(
        [classes[p.name](dict(p.options)) for p in advertised.policies],
        plugins.origin,
    )
    if len(_scopes) > _MOST_SCOPES:
        _scopes.clear()  # settings of the past
    known = _scopes.setdefault(advertised.shared, KnownScope())
    return dataclasses.replace(built, known_scope=known)
