"""Policies, built with a time limit: of this service, and of any member.

Those of this service are validated before they decide anything: then a fault
refuses the configuration; later it could only stop decisions. The validation
calls no method that needs a node or a peer.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

from ironic_ownership import plugins
from ironic_ownership.contracts import exceptions, model, texts
from ironic_ownership.contracts.calls import (
    KeyedCalls,
    UnfinishedError,
    exit_refused,
    is_interrupt,
)
from ironic_ownership.contracts.member_settings import is_value
from ironic_ownership.contracts.policy import FilterPolicy, Policy
from ironic_ownership.engine import plugin_guard
from ironic_ownership.engine.decision import policy_set

if TYPE_CHECKING:
    from ironic_ownership.engine.host.tuning import Snapshots


BUILD_LIMIT = 30.0
"""Seconds that a policy may take to be built and validated."""

_calls: KeyedCalls[ValidatedPolicy] = KeyedCalls()


def built(
    name: str,
    target: type[Policy],
    given: Mapping[str, model.Value],
    host: str | None,
    snapshots: Mapping[str, model.Value],
) -> ValidatedPolicy:
    """Build and validate a policy, within a time limit.

    :param snapshots: by the name of the source.
    :raises OwnershipError: naming the policy and its package.
    """

    def build() -> ValidatedPolicy:
        candidate = target({**given, **snapshots})
        if host is not None:
            candidate.check_host(host)
        return validate(candidate, plugins.origin, given)

    key = name, hash((*given.items(), *snapshots.items()))
    with plugins.building(plugins.POLICIES, name):
        try:
            with exit_refused():
                return _calls.result(key, build, BUILD_LIMIT)
        except UnfinishedError as exc:
            whose = plugins.named(plugins.POLICIES, name)
            raise exceptions.OwnershipError(
                f'{whose} is not built after {BUILD_LIMIT:g} s: repair or '
                'uninstall that package'
            ) from exc


def with_snapshots(
    name: str, tried: ValidatedPolicy, host: str | None, snapshots: Snapshots
) -> ValidatedPolicy:
    """Build a policy again if it has sources.

    :raises OwnershipError: if it refuses its snapshots.
    """
    if not tried.policy.sources:
        return tried
    found = {
        s.name: snapshots.get((name, s.name)) for s in tried.policy.sources
    }
    return built(name, type(tried.policy), tried.given, host, found)


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


def _built_for_member(
    advertised: model.MemberSettings,
) -> policy_set.PolicySet:
    classes = plugins.policies(p.name for p in advertised.policies)
    found = policy_set.PolicySet.of(
        [classes[p.name](dict(p.options)) for p in advertised.policies],
        plugins.origin,
    )
    return dataclasses.replace(found, known_scope=_scope(advertised.shared))


# Ours keep no state: one set serves all threads and all refreshes.
_our_own = functools.lru_cache(500)(_built_for_member)


_NOTHING: Mapping[str, model.Value] = {}
_COMPARED, _SEARCHED = 4, 8
"""Least length of a secret that is compared with whole values, and of one
that is searched in them: shorter ones may be there by chance."""

_REMARKS = 100
"""Most remarks of a policy."""


@dataclasses.dataclass(frozen=True)
class ValidatedPolicy:
    """A valid policy.

    :param options: its advertised options.
    :param values: what it advertises for this service alone.
    :param remarks: for the operator.
    :param given: the options that it was built from, secret ones included.
    """

    policy: Policy
    options: Mapping[str, model.Value]
    remarks: tuple[str, ...]
    values: Mapping[str, model.Value]
    given: Mapping[str, model.Value]


def validate(
    candidate: Policy,
    origin: plugin_guard.Origin = plugin_guard.unknown_origin,
    given: Mapping[str, model.Value] = _NOTHING,
) -> ValidatedPolicy:
    """Validate the options, remarks and scope of a policy.

    :param given: the options that it was built from, secret ones included.
    :raises PluginFaultError: if a result is missing or of a wrong type, if a
        secret would be advertised under any name, or if the policy cannot be
        built from its advertised options.
    :raises PolicySettingsError: if the options are too large.
    """
    with plugin_guard.faults_of(candidate, 'settings', origin):
        options = _advertised(candidate, candidate.settings(), given)
        apart = {o.name for o in candidate.options if o.per_member}
        apart |= {s.name for s in candidate.sources if s.per_member}
        for name in apart & options.keys():
            raise ValueError(f'{name!r} is per_member')
    with plugin_guard.faults_of(candidate, 'member_values', origin):
        values = _advertised(candidate, candidate.member_values(), given)
    name = type(candidate).__name__
    too_large = model.MemberSettings(
        (model.PolicySettings.of(name, options),),
        values=(model.PolicySettings.of(name, values),) if values else (),
    ).size_fault
    if too_large:
        where = origin(type(candidate))
        raise exceptions.PolicySettingsError(
            f'{where}: {too_large}' if where else too_large
        )
    with plugin_guard.faults_of(candidate, 'settings', origin):
        rebuilt = type(candidate)(options).settings()
        again = _advertised(candidate, rebuilt, given)
        if again != options:
            raise ValueError(f'built from {options!r} it advertises {again!r}')
    with plugin_guard.faults_of(candidate, 'remarks', origin):
        found = candidate.remarks()
        remarks = tuple(itertools.islice(found, _REMARKS + 1))
        if (
            isinstance(found, str)
            or len(remarks) > _REMARKS
            or not all(isinstance(remark, str) for remark in remarks)
        ):
            raise TypeError(f'{found!r} is not a sequence of lines')
    if isinstance(candidate, FilterPolicy):
        with plugin_guard.faults_of(candidate, 'scope', origin):
            policy_set.plain_scope(candidate.scope())
    lines = tuple(map(texts.plain, remarks))
    return ValidatedPolicy(candidate, options, lines, values, given)


def _advertised(
    candidate: Policy, settings: object, given: Mapping[str, model.Value]
) -> Mapping[str, model.Value]:
    if not isinstance(settings, Mapping):
        raise TypeError(f'{settings!r} is not a mapping')
    options = dict(settings)
    secrets = {
        o.name: given.get(o.name) for o in type(candidate).options if o.secret
    }
    for name, value in options.items():
        if name in secrets:
            raise ValueError(f'the secret option {name!r} would be advertised')
        if not isinstance(name, str) or not is_value(value):
            raise TypeError(f'{name!r}: {value!r} cannot be advertised')
        for hidden, text in _texts(secrets):
            if any(_shows(shown, text) for _, shown in _texts({'': value})):
                raise ValueError(
                    f'the value of the secret option {hidden!r} would be '
                    f'advertised as {name!r}'
                )
    return options


def _texts(values: Mapping[str, model.Value]) -> Iterator[tuple[str, str]]:
    for name, value in values.items():
        for item in value if isinstance(value, tuple) else (value,):
            if isinstance(item, str):
                yield name, item


def _shows(text: str, secret: str) -> bool:
    if len(secret) >= _SEARCHED:
        return secret in text
    return len(secret) >= _COMPARED and secret == text
