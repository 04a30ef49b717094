"""Further values of a policy's options, to try with its laws."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence

from ironic_ownership.contracts import model, options

_TEXTS = ('a', 'b', 'g1', 'rack1', 'baremetal', 'host1')
_MARKER = 'secret-of-the-check'
_NUMBERS = (1, -1, 7)
LISTED = (
    *('a', 'b', 'g1', 'g2', 'rack1', 'rack2', 'baremetal', 'gpu', 'large'),
    *('host1', 'host2', 'host3', 'ipmi', 'redfish'),
)
"""Values that the sample nodes and members have."""

_MOST = 5
"""Values tried of one option."""


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
        case _:
            number = current if isinstance(current, int | float) else 0
            yield from (number + step for step in _NUMBERS)


def is_allowed(declared: options.Option, value: model.Value) -> bool:
    """Tell whether a value is in the limits of an option."""
    if isinstance(value, str):
        length = declared.maximum
        return (length is None or len(value) <= length) and (
            declared.regex is None
            or re.fullmatch(declared.regex, value) is not None
        )
    if isinstance(value, int | float) and not isinstance(value, bool):
        low, high = declared.minimum, declared.maximum
        return (low is None or value >= low) and (
            high is None or value <= high
        )
    return True
