"""Compare a capability of a node with what a request wants of it.

The language is that of ``oslo_utils.specs_matcher``, which parses what is
asked for anew for every value that it is compared with. A request is compared
with very many nodes, so it is parsed here once; what then happens is the same.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

from ironic_ownership.contracts import flavor_specs

_NO = frozenset(('', '0', 'f', 'false', 'n', 'no', 'off', 'none'))
_UNFIT = (ValueError, TypeError, SyntaxError, MemoryError, RecursionError)
"""What the operators raise when a value is none that they can compare."""

Test = Callable[[str], bool]


@functools.lru_cache(maxsize=4096)
def parse(text: str) -> Mapping[str, str]:
    """Read ``name:value,name:value``, as Ironic keeps capabilities.

    What has not that form is left out, as Ironic itself does.
    """
    pairs = (item.partition(':') for item in text.split(','))
    return {
        name.strip(): value.strip() for name, colon, value in pairs if colon
    }


def test_of(spec: str) -> Test:
    """Return the test that a value of a capability has to pass.

    :param spec: such as ``>= 2``, ``s== uefi`` or ``<or> a <or> b``; without
        an operator the value has to be equal; ``flavor_specs.PRESENT`` is
        fulfilled by every value that does not mean "no".
    """
    if spec == flavor_specs.PRESENT:
        return lambda value: value.lower() not in _NO
    # Imported here: pyparsing takes longer than all else in this package.
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
