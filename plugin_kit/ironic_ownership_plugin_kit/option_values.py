"""Further values of a policy's options, and what members advertise of them.

A branch that depends on a weight or a zone is reached only among members that
advertise different ones.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence

from ironic_ownership.conf import configuration
from ironic_ownership.contracts import model, options, policy
from ironic_ownership_plugin_kit import policy_process

_TEXTS = ('a', 'b', 'g1', 'rack1', 'baremetal', 'host1')
_MARKER = 'secret-of-the-check'
_NUMBERS = (1, -1, 7)
LISTED = (
    *('a', 'b', 'g1', 'g2', 'rack1', 'rack2', 'baremetal', 'gpu', 'large'),
    *('host1', 'host2', 'host3', 'ipmi', 'redfish'),
)
"""Values that the sample nodes and members have."""

_MOST = 5
"""Values tried of one option, the given one included."""


def others(
    declared: options.Option, current: model.Value
) -> Iterator[model.Value]:
    """Yield some other values of an option, of its type and in its limits."""
    values = (v for v in _values(declared, current) if v != current)
    return itertools.islice(
        (value for value in values if is_allowed(declared, value)), _MOST
    )


def secrets(
    declared: Sequence[options.Option], settings: Mapping[str, model.Value]
) -> Mapping[str, str]:
    """Return a value for each secret text that has none."""
    return {
        option.name: _MARKER
        for option in declared
        if option.secret
        and option.type is options.OptionType.STRING
        and not settings.get(option.name, option.default)
        and is_allowed(option, _MARKER)
    }


def _values(
    declared: options.Option, current: model.Value
) -> Iterator[model.Value]:
    match declared.type:
        case options.OptionType.BOOLEAN:
            yield not current
        case options.OptionType.STRING:
            yield from _TEXTS
            # Many patterns list the texts that are allowed.
            yield from (declared.regex or '').split('|')
        case options.OptionType.LIST:
            given = current if isinstance(current, tuple) else ()
            yield given[:1]
            yield from ((*given, text) for text in _TEXTS)
            yield _TEXTS
        case options.OptionType.MAP:
            yield from (('a:1',), ('a:2', 'b:1'))
        case _:
            number = current if isinstance(current, int | float) else 0
            yield from (number + step for step in _NUMBERS)


def is_allowed(declared: options.Option, value: model.Value) -> bool:
    """Tell whether a host accepts a value of an option."""
    if configuration.wrong(declared, value):
        return False
    if value is None or isinstance(value, bool | tuple):
        return True
    try:
        read = configuration.to_oslo(declared).type(str(value))
    except ValueError:
        return False
    return bool(read == value) and not isinstance(read, bool)


_TYPES = (
    (bool, options.OptionType.BOOLEAN),
    (int, options.OptionType.INTEGER),
    (float, options.OptionType.FLOAT),
    (str, options.OptionType.STRING),
    (tuple, options.OptionType.LIST),
)

Given = Mapping[str, Sequence[model.Value]]
"""Values to use by the name of an option or a source."""


def derive(
    target: type[policy.Policy],
    settings: policy_process.Settings,
    given: Given,
) -> policy_process.Values:
    """Return what members advertise: different values of each option.

    :param settings: options of one service; its values are among them.
    :param given: values to use instead of derived ones.
    :returns: only those that a host accepts; empty if the policy has no
        option and no source with ``per_member``.
    """
    by_name = {
        declared.name: [
            *_accepted(target, settings, declared, given.get(declared.name))
        ]
        for declared in _declared(target, settings)
    }
    count = max(map(len, by_name.values()), default=0)
    built = []
    for number in range(count):
        own = {n: of[number % len(of)] for n, of in by_name.items() if of}
        built.append(_advertised(target, {**settings, **own}))
    return [one for one in built if one is not None]


def distinct(
    target: type[policy.Policy], advertised: policy_process.Values
) -> dict[str, list[model.Value]]:
    """Return the values that are advertised under each name.

    :returns: also the names under which there is none.
    """
    found: dict[str, list[model.Value]] = {
        option.name: [] for option in _declared(target, {})
    }
    for one in advertised:
        for name, value in one.items():
            if value not in found.setdefault(name, []):
                found[name].append(value)
    return found


def unusual(
    target: type[policy.Policy], advertised: policy_process.Values
) -> Iterator[policy_process.Values]:
    """Yield what members may advertise as well: nothing, and zeros."""
    declared = [*_declared(target, {})]
    if declared:
        yield ({},)
        yield (*advertised, {})
    zeros = {o.name: 0 for o in declared if is_allowed(o, 0)}
    if zeros:
        yield (zeros,)


def _declared(
    target: type[policy.Policy], settings: policy_process.Settings
) -> Iterator[options.Option]:
    """Yield an option for each value that a member advertises for itself."""
    yield from (option for option in target.options if option.per_member)
    for source in target.sources:
        snapshot = settings.get(source.name)
        if source.per_member:
            found = (t for kind, t in _TYPES if isinstance(snapshot, kind))
            type_ = next(found, options.OptionType.STRING)
            yield options.Option(source.name, type_, source.help)


def _accepted(
    target: type[policy.Policy],
    settings: policy_process.Settings,
    declared: options.Option,
    given: Sequence[model.Value] | None,
) -> Iterator[model.Value]:
    """Yield the value of the settings, and others that a host accepts."""
    current = settings.get(declared.name, declared.default)
    yield current
    if given is not None:
        yield from (value for value in given if value != current)
        return
    # A source that was not read has no value to vary.
    if current is None and declared.name not in {
        option.name for option in target.options
    }:
        return
    yield from itertools.islice(
        (
            value
            for value in others(declared, current)
            if _advertised(target, {**settings, declared.name: value})
            is not None
        ),
        _MOST - 1,
    )


def _advertised(
    target: type[policy.Policy], settings: policy_process.Settings
) -> dict[str, model.Value] | None:
    """Return what a service advertises for itself; ``None`` if refused."""
    try:
        built = target(policy_process.values_of(target, settings))
        return dict(built.member_values())
    except Exception:  # noqa: BLE001 - third-party code, a value of our own
        return None
