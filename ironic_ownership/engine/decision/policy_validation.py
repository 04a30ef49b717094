"""Validation of a policy at start and reload, before it decides anything.

Then a fault refuses the configuration; later it could only stop decisions.
Calls no method that needs a node or a peer.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Iterator, Mapping

from ironic_ownership.contracts import exceptions, model, texts
from ironic_ownership.contracts.policy import FilterPolicy, Policy
from ironic_ownership.engine.decision import plugin_guard, policy_set

_NO_SECRETS: Mapping[str, model.Value] = {}
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
    values: Mapping[str, model.Value] = dataclasses.field(default_factory=dict)
    given: Mapping[str, model.Value] = dataclasses.field(default_factory=dict)


def validate(
    candidate: Policy,
    origin: plugin_guard.Origin = plugin_guard.unknown_origin,
    secrets: Mapping[str, model.Value] = _NO_SECRETS,
) -> ValidatedPolicy:
    """Validate the options, remarks and scope of a policy.

    :param secrets: values of its secret options, by name.
    :raises PluginFaultError: if a result is missing or of a wrong type, if a
        secret would be advertised under any name, or if the policy cannot be
        built from its advertised options.
    :raises PolicySettingsError: if the options are too large.
    """
    with plugin_guard.faults_of(candidate, 'settings', origin):
        options = _advertised(candidate, candidate.settings(), secrets)
        apart = {o.name for o in candidate.options if o.per_member}
        apart |= {s.name for s in candidate.sources if s.per_member}
        for name in apart & options.keys():
            raise ValueError(f'{name!r} is per_member')
    with plugin_guard.faults_of(candidate, 'member_values', origin):
        values = _advertised(candidate, candidate.member_values(), secrets)
    name = type(candidate).__name__
    too_large = size_fault(
        model.MemberSettings(
            (model.PolicySettings.of(name, options),),
            values=(model.PolicySettings.of(name, values),) if values else (),
        )
    )
    if too_large:
        where = origin(type(candidate))
        raise exceptions.PolicySettingsError(
            f'{where}: {too_large}' if where else too_large
        )
    with plugin_guard.faults_of(candidate, 'settings', origin):
        rebuilt = type(candidate)(options).settings()
        again = _advertised(candidate, rebuilt, secrets)
        if again != options:
            raise ValueError(f'built from {options!r} it advertises {again!r}')
    with plugin_guard.faults_of(candidate, 'remarks', origin):
        given = candidate.remarks()
        remarks = tuple(itertools.islice(given, _REMARKS + 1))
        if (
            isinstance(given, str)
            or len(remarks) > _REMARKS
            or not all(isinstance(remark, str) for remark in remarks)
        ):
            raise TypeError(f'{given!r} is not a sequence of lines')
    if isinstance(candidate, FilterPolicy):
        with plugin_guard.faults_of(candidate, 'scope', origin):
            policy_set.plain_scope(candidate.scope())
    lines = tuple(map(texts.plain, remarks))
    return ValidatedPolicy(candidate, options, lines, values)


def size_fault(settings: model.MemberSettings) -> str | None:
    """Return why settings are too large; ``None`` if they are not."""
    size = len(settings.to_json())
    if size <= model.MAX_SETTINGS_BYTES:
        return None
    largest = max(
        settings.policies,
        key=lambda one: len(model.MemberSettings((one,)).to_json()),
    )
    return (
        f'the settings of its policies have {size} bytes, and at most '
        f'{model.MAX_SETTINGS_BYTES} are advertised: give {largest.name!r} '
        'shorter options'
    )


def _advertised(
    candidate: Policy, settings: object, secrets: Mapping[str, model.Value]
) -> Mapping[str, model.Value]:
    if not isinstance(settings, Mapping):
        raise TypeError(f'{settings!r} is not a mapping')
    options = dict(settings)
    secret = {option.name for option in candidate.options if option.secret}
    for name, value in options.items():
        if name in secret:
            raise ValueError(f'the secret option {name!r} would be advertised')
        if not isinstance(name, str) or not _is_value(value):
            raise TypeError(f'{name!r}: {value!r} cannot be advertised')
        for hidden, text in _texts(secrets):
            if any(_shows(shown, text) for _, shown in _texts({'': value})):
                raise ValueError(
                    f'the value of the secret option {hidden!r} would be '
                    f'advertised as {name!r}'
                )
    return options


def check_snapshot(value: object) -> None:
    """Validate what a source of a policy has returned.

    :raises TypeError: if it cannot be advertised.
    :raises ValueError: if it is too large.
    """
    if not _is_value(value):
        raise TypeError(
            f'it returned a {type(value).__name__}, which is not a text, '
            'number, tuple of texts or None'
        )
    too_large = size_fault(
        model.MemberSettings(
            (model.PolicySettings.of('it', {'snapshot': value}),)  # type: ignore[dict-item]
        )
    )
    if too_large:
        raise ValueError(
            f'it returned more than the {model.MAX_SETTINGS_BYTES} bytes that '
            'can be advertised'
        )


def _texts(values: Mapping[str, model.Value]) -> Iterator[tuple[str, str]]:
    for name, value in values.items():
        for item in value if isinstance(value, tuple) else (value,):
            if isinstance(item, str):
                yield name, item


def _shows(text: str, secret: str) -> bool:
    if len(secret) >= _SEARCHED:
        return secret in text
    return len(secret) >= _COMPARED and secret == text


def _is_value(value: object) -> bool:
    if isinstance(value, tuple):
        return all(isinstance(item, str) for item in value)
    if isinstance(value, float):
        return math.isfinite(value)
    return value is None or isinstance(value, str | int)
