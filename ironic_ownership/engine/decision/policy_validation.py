"""Validation of a policy at start and reload, before it decides anything.

Then a fault refuses the configuration; later it could only stop decisions.
Calls no method that needs a node or a peer.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping

from ironic_ownership.contracts import model
from ironic_ownership.contracts.policy import FilterPolicy, Policy
from ironic_ownership.engine.decision import plugin_guard


@dataclasses.dataclass(frozen=True)
class ValidatedPolicy:
    """A valid policy.

    :param options: its advertised options.
    :param remarks: for the operator.
    """

    policy: Policy
    options: Mapping[str, model.Value]
    remarks: tuple[str, ...]


def validate(
    candidate: Policy,
    origin: plugin_guard.Origin = plugin_guard.unknown_origin,
) -> ValidatedPolicy:
    """Validate the options, remarks and scope of a policy.

    :raises PluginFaultError: if a result is missing or of a wrong type, if a
        secret would be advertised, or if the policy cannot be built from its
        advertised options.
    """
    with plugin_guard.faults_of(candidate, 'settings', origin):
        options = _advertised(candidate)
        again = _advertised(type(candidate)(options))
        if again != options:
            raise ValueError(f'built from {options!r} it advertises {again!r}')
    with plugin_guard.faults_of(candidate, 'remarks', origin):
        remarks = candidate.remarks()
        if isinstance(remarks, str) or not all(
            isinstance(remark, str) for remark in remarks
        ):
            raise TypeError(f'{remarks!r} is not a sequence of lines')
    if isinstance(candidate, FilterPolicy):
        with plugin_guard.faults_of(candidate, 'scope', origin):
            scope = candidate.scope()
            if not isinstance(scope, model.Scope):
                raise TypeError(f'{scope!r} is not a Scope')
    return ValidatedPolicy(candidate, options, tuple(remarks))


def _advertised(candidate: Policy) -> Mapping[str, model.Value]:
    settings = candidate.settings()
    if not isinstance(settings, Mapping):
        raise TypeError(f'{settings!r} is not a mapping')
    options = dict(settings)
    secret = {option.name for option in candidate.options if option.secret}
    for name, value in options.items():
        if name in secret:
            raise ValueError(f'the secret option {name!r} would be advertised')
        if not isinstance(name, str) or not _is_value(value):
            raise TypeError(f'{name!r}: {value!r} cannot be advertised')
    return options


def _is_value(value: object) -> bool:
    if isinstance(value, tuple):
        return all(isinstance(item, str) for item in value)
    if isinstance(value, float):
        return math.isfinite(value)
    return value is None or isinstance(value, str | int)
