"""Policies, built with a time limit: of this service, and of any member."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from ironic_ownership import plugins
from ironic_ownership.contracts import exceptions, model, policy
from ironic_ownership.contracts.calls import (
    KeyedCalls,
    UnfinishedError,
    exit_refused,
    is_interrupt,
)
from ironic_ownership.engine.decision import policy_set, policy_validation

if TYPE_CHECKING:
    from ironic_ownership.engine.host.tuning import Snapshots

BUILD_LIMIT = 30.0
"""Seconds that a policy may take to be built and validated."""

_calls: KeyedCalls[policy_validation.ValidatedPolicy] = KeyedCalls()


def built(
    name: str,
    target: type[policy.Policy],
    given: Mapping[str, model.Value],
    host: str | None,
    snapshots: Mapping[str, model.Value],
) -> policy_validation.ValidatedPolicy:
    """Build and validate a policy, within a time limit.

    :param snapshots: by the name of the source.
    :raises OwnershipError: naming the policy and its package.
    """
    try:
        with exit_refused():
            return _calls.result(
                (name, hash((*given.items(), *snapshots.items()))),
                functools.partial(_validated, target, given, host, snapshots),
                BUILD_LIMIT,
            )
    except UnfinishedError as exc:
        whose = plugins.named(plugins.POLICIES, name)
        raise exceptions.OwnershipError(
            f'{whose} is not built after {BUILD_LIMIT:g} s: repair or '
            'uninstall that package'
        ) from exc
    except exceptions.OwnershipError:
        raise
    except BaseException as exc:
        if is_interrupt(exc):
            raise
        raise plugins.failed(plugins.POLICIES, name, exc) from exc


def with_snapshots(
    name: str,
    tried: policy_validation.ValidatedPolicy,
    host: str | None,
    snapshots: Snapshots,
) -> policy_validation.ValidatedPolicy:
    """Build a policy again if it has sources.

    :raises OwnershipError: if it refuses its snapshots.
    """
    if not tried.policy.sources:
        return tried
    found = {
        s.name: snapshots.get((name, s.name)) for s in tried.policy.sources
    }
    return built(name, type(tried.policy), tried.given, host, found)


def _validated(
    target: type[policy.Policy],
    given: Mapping[str, model.Value],
    host: str | None,
    snapshots: Mapping[str, model.Value],
) -> policy_validation.ValidatedPolicy:
    candidate = target({**given, **snapshots})
    if host is not None:
        candidate.check_host(host)
    secrets = {
        option.name: given[option.name]
        for option in target.options
        if option.secret
    }
    found = policy_validation.validate(candidate, plugins.origin, secrets)
    return dataclasses.replace(found, given=given)


MEMBER_LIMIT = 10.0
"""Seconds that the policies of a member may take to be built."""

_builds: KeyedCalls[policy_set.PolicySet] = KeyedCalls()


@functools.lru_cache(500)
def _scope(shared: model.MemberSettings) -> list[model.Scope]:
    """Return where the scope of members with these settings is kept."""
    return []


def interpret(
    advertised: model.MemberSettings,
    may_import: Callable[[str], bool] = lambda name: True,
) -> policy_set.PolicySet | None:
    """Build the policies of any member from what it advertises.

    :param may_import: whether this process may import a policy of another
        package.
    :returns: ``None`` if this process can't build them: another contract
        version, or a policy that is not installed, fails or hangs.
    """
    if advertised.contract_version not in model.SUPPORTED_VERSIONS:
        return None
    names = [policy.name for policy in advertised.policies]
    ours = all(plugins.is_own(plugins.POLICIES, name) for name in names)
    if not ours and not all(map(may_import, names)):
        return None
    try:
        if ours:
            return _our_own(advertised)
        with exit_refused():
            return _builds.result(
                advertised,
                functools.partial(_built_for_member, advertised),
                MEMBER_LIMIT,
            )
    except BaseException as exc:  # third-party code and options
        if is_interrupt(exc):
            raise
        return None


@functools.lru_cache(500)
def _our_own(advertised: model.MemberSettings) -> policy_set.PolicySet:
    # Ours keep no state: one set serves all threads and all refreshes.
    return _built_for_member(advertised)


def _built_for_member(
    advertised: model.MemberSettings,
) -> policy_set.PolicySet:
    classes = plugins.policies(p.name for p in advertised.policies)
    found = policy_set.PolicySet.of(
        [classes[p.name](dict(p.options)) for p in advertised.policies],
        plugins.origin,
    )
    return dataclasses.replace(found, known_scope=_scope(advertised.shared))
