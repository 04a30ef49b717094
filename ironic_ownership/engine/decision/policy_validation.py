"""Try a policy out before it decides anything: what it says of itself.

At start and at a reload a fault refuses the configuration; later it could
only stop the decisions. Asks for nothing that needs a node or a peer.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping

from ironic_ownership.contracts import model
from ironic_ownership.contracts.policy import FilterPolicy, Policy
from ironic_ownership.engine.decision import plugin_guard


@dataclasses.dataclass(frozen=True)
class Tried:
    """A policy that answered as its contract asks.

    :param options: what is advertised of it.
    :param remarks: what the operator should read.
    """

    policy: Policy
    options: Mapping[str, model.Value]
    remarks: tuple[str, ...]


def try_out(
    candidate: Policy,
    origin: plugin_guard.Origin = plugin_guard.nobody_knows,
) -> Tried:
    """Ask a policy for all that it says of itself.

    :raises PluginFaultError: if an answer is missing or of a wrong type, if
        a secret would be advertised, or if the policy cannot be built from
        what it advertises.
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
            raise TypeError(f'{remarks!r} is no sequence of lines')
    if isinstance(candidate, FilterPolicy):
        with plugin_guard.faults_of(candidate, 'scope', origin):
            scope = candidate.scope()
            if not isinstance(scope, model.Scope):
                raise TypeError(f'{scope!r} is no Scope')
    return Tried(candidate, options, tuple(remarks))


def _advertised(candidate: Policy) -> Mapping[str, model.Value]:
    settings = candidate.settings()
    if not isinstance(settings, Mapping):
        raise TypeError(f'{settings!r} is no mapping')
    options = dict(settings)
    secret = {option.name for option in candidate.options if option.secret}
    for name, value in options.items():
        if name in secret:
            raise ValueError(
                f'the secret option {name!r} would be advertised to everybody'
            )
        if not isinstance(name, str) or not _is_value(value):
            raise TypeError(f'{name!r}: {value!r} cannot be advertised')
    return options


def _is_value(value: object) -> bool:
    if isinstance(value, tuple):
        return all(isinstance(item, str) for item in value)
    if isinstance(value, float):
        return math.isfinite(value)
    return value is None or isinstance(value, str | int)
