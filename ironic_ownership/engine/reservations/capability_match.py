"""Match of capabilities of nodes with the specs of a request.

The language is that of ``oslo_utils.specs_matcher``, which parses the spec
again for each value. A request is compared with many nodes, so the spec is
parsed once here; the comparison is the same.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

from ironic_ownership.contracts import flavor_specs

_NO = frozenset(('', '0', 'f', 'false', 'n', 'no', 'off', 'none'))
_UNFIT = (ValueError, TypeError, SyntaxError, MemoryError, RecursionError)
"""Errors of the operators for a value that they can't compare."""

Test = Callable[[str], bool]


@functools.lru_cache(maxsize=4096)
def parse(text: str) -> Mapping[str, str]:
    """Read ``name:value,name:value``, as Ironic keeps capabilities.

    Other items are ignored, as in Ironic.
    """
    pairs = (item.partition(':') for item in text.split(','))
    return {
        name.strip(): value.strip() for name, colon, value in pairs if colon
    }


def test_of(spec: str) -> Test:
    """Return the test for the values of a capability.

    :param spec: such as ``>= 2``, ``s== uefi`` or ``<or> a <or> b``; without
        an operator the value has to be equal; ``flavor_specs.PRESENT``
        accepts every value that does not mean "no".
    """
    if spec == flavor_specs.PRESENT:
        return lambda value: value.lower() not in _NO
    # Imported here: pyparsing is slow to import.
    import pyparsing
    from oslo_utils import specs_matcher

    tree: Any
    try:
        tree = specs_matcher.make_grammar().parse_string(spec)
    except pyparsing.ParseException:
        tree = [spec]
    if len(tree) == 1:
        wanted = tree[0]
        return lambda value: bool(value == wanted)
    return functools.partial(
        _compare, specs_matcher.op_methods[tree[0]], tuple(tree[1:])
    )


def _compare(
    operator: Callable[..., bool], arguments: tuple[str, ...], value: str
) -> bool:
    try:
        return bool(operator(value, *arguments))
    except _UNFIT:
        return False
