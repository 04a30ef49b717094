"""Requirements of a request on the properties of a node.

Pure. Specs of capabilities are in the language of
``oslo_utils.specs_matcher``, which parses a spec for each value; here it is
parsed once, with the same results.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ironic_ownership.contracts import flavor_specs
from ironic_ownership.contracts.reservations import Request

MB = 1024
"""MB in a GB."""

MEMORY, VCPUS, DISK = 'memory_mb', 'vcpus', 'disk_gb'
ARCHITECTURE = 'architecture'
CAPABILITY = 'capabilities:'

PROPERTIES = ('cpu_arch', 'cpus', 'local_gb', 'memory_mb')
"""Properties that can be requested like capabilities, as with Nova."""

_NO = frozenset(('', '0', 'f', 'false', 'n', 'no', 'off', 'none'))
_UNFIT = (ValueError, TypeError, SyntaxError, MemoryError, RecursionError)
"""Errors of the operators for a value that they can't compare."""

_SAME_ARCHITECTURE = {'amd64': 'x86_64', 'arm64': 'aarch64', 'i386': 'i686'}

Test = Callable[[str], bool]


@dataclasses.dataclass(frozen=True, slots=True)
class Requirement:
    """One condition on the properties of a node.

    :param name: of the condition, as in the counts.
    :param fields: the properties that it reads.
    """

    name: str
    fields: tuple[str, ...]
    read: Callable[[Mapping[str, Any]], str | None]
    fits: Test


def of(
    request: Request, specs: flavor_specs.FlavorSpecs
) -> Iterator[Requirement]:
    """Yield the requirements of a request, the cheapest first.

    A resource for Placement (``resources:MEMORY_MB``) replaces the flavor's
    field, as with Nova: 0 requires nothing.
    """
    memory = specs.amounts.get('memory_mb', request.memory_mb)
    vcpus = specs.amounts.get('vcpus', request.vcpus)
    disk = _disk_mb(request, specs) / MB
    if memory:
        yield _of_property(MEMORY, 'memory_mb', _at_least(memory))
    if vcpus:
        yield _of_property(VCPUS, 'cpus', _at_least(vcpus))
    if disk:
        yield _of_property(DISK, 'local_gb', _at_least(disk))
    if specs.architecture is not None:
        wanted = _canonical_architecture(specs.architecture)
        yield _of_property(
            ARCHITECTURE,
            'cpu_arch',
            lambda text: _canonical_architecture(text) == wanted,
        )
    yield from (_capability(name, spec) for name, spec in specs.capabilities)


def _disk_mb(request: Request, specs: flavor_specs.FlavorSpecs) -> int:
    if 'disk_gb' in specs.amounts:
        return specs.amounts['disk_gb'] * MB
    return (request.root_gb + request.ephemeral_gb) * MB + request.swap


def _at_least(least: float) -> Test:
    return lambda text: _number(text) >= least


def _of_property(name: str, field: str, fits: Test) -> Requirement:
    return Requirement(
        name, (field,), lambda found: _text(found.get(field)), fits
    )


def _capability(name: str, spec: str) -> Requirement:
    own = (name,) if name in PROPERTIES else ()

    def read(properties: Mapping[str, Any]) -> str | None:
        found = parse_capabilities(_text(properties.get('capabilities')) or '')
        if name in found or not own:
            return found.get(name)
        return _text(properties.get(name))

    return Requirement(
        CAPABILITY + name, ('capabilities', *own), read, test_of(spec)
    )


def _text(value: object) -> str | None:
    if isinstance(value, bool) or (
        isinstance(value, float) and value.is_integer()
    ):
        return str(int(value))
    return value if isinstance(value, str) or value is None else str(value)


def _number(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    # One that is not finite is not enough of anything.
    return number if math.isfinite(number) else math.nan


def _canonical_architecture(text: str) -> str:
    name = text.strip().lower()
    return _SAME_ARCHITECTURE.get(name, name)


@functools.lru_cache(maxsize=4096)
def parse_capabilities(text: str) -> Mapping[str, str]:
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
