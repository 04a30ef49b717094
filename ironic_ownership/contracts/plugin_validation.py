"""Validation of plugin classes, before one is built.

Shared by the loader and the contract suites.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import Any

from ironic_ownership.contracts import (
    backend,
    bare_metal,
    model,
    options,
    policy,
)

_FLAGS = ('node_by_node', 'reads_owners', 'rebalancing', 'releases_free')
_NAME = re.compile(r'[A-Za-z_][A-Za-z0-9_-]*')
_SHORTEST_INTERVAL = 1.0
_LONGEST_TIMEOUT = 60.0


def policy_fault(target: object) -> str | None:
    """Return the fault of a policy class; ``None`` if it has none."""
    return next(_policy_faults(target), None)


def backend_fault(target: object) -> str | None:
    """Return the fault of a backend class; ``None`` if it has none."""
    return next(_faults(target, backend.MembershipBackend), None)


# Each fault is yielded before the class is read on, which relies on it.
def _policy_faults(target: object) -> Iterator[str]:
    yield from _faults(target, policy.FilterPolicy, policy.AssignerPolicy)
    assert isinstance(target, type) and issubclass(target, policy.Policy)
    fields: object = target.node_fields
    if not isinstance(fields, tuple):
        yield f'its node_fields {fields!r} are not a tuple'
    for field in target.node_fields:
        fault = bare_metal.field_fault(field)
        if fault is None and target.contract_version < 2 and field != 'extra':
            fault = f'{field!r} needs contract_version = 2'
        if fault is not None:
            yield f'its node_fields: {fault}'
    yield from _attribute_faults(target)
    names = {option.name for option in target.options}
    yield from _source_faults(target.sources, names)
    if target.sources and target.contract_version < 2:
        yield 'its sources need contract_version = 2'
    if issubclass(target, policy.AssignerPolicy):
        yield from _assigner_faults(target)


def _attribute_faults(target: type[policy.Policy]) -> Iterator[str]:
    """Yield the attributes that are code: all processes read these."""
    if target.__getattribute__ is not object.__getattribute__:
        yield 'it defines __getattribute__'
    if type(target.deprecated) is not str:
        yield 'its deprecated is not a text'
    for name in _FLAGS:
        if type(getattr(target, name, False)) is not bool:
            yield f'its {name} is not a flag'


def _faults(target: object, *bases: type) -> Iterator[str]:
    if not (
        inspect.isclass(target)
        and sum(issubclass(target, base) for base in bases) == 1
    ):
        one_of = ' or '.join(base.__name__ for base in bases)
        yield f'{target!r} is not a subclass of {one_of}'
    version = getattr(target, 'contract_version', None)
    if not isinstance(version, int):
        yield 'it declares no contract_version'
    if version not in model.SUPPORTED_VERSIONS:
        supported = ' and '.join(map(str, model.SUPPORTED_VERSIONS))
        yield (
            f'it is written for contract version {version}, this release '
            f'supports {supported}'
        )
    if inspect.isabstract(target):
        missing = sorted(getattr(target, '__abstractmethods__', ()))
        yield f'it does not implement {", ".join(missing)}'
    if hasattr(target, '__len__') or hasattr(target, '__bool__'):
        yield 'it defines __len__ or __bool__'
    yield from _option_faults(getattr(target, 'options', None), version)


def _option_faults(declared: Any, version: Any) -> Iterator[str]:
    if not isinstance(declared, tuple) or not all(
        isinstance(option, options.Option) for option in declared
    ):
        yield 'its options are not a tuple of Option'
    for option in declared:
        for name in (option.name, *option.aliases):
            if not isinstance(name, str) or not _NAME.fullmatch(name):
                yield f'{name!r} is not the name of an option'
        if not isinstance(option.type, options.OptionType):
            yield f'the option {option.name!r} has no OptionType'
    names = [
        name for option in declared for name in (option.name, *option.aliases)
    ]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        yield f'its options have one name twice: {", ".join(twice)}'
    newer = [
        option.name
        for option in declared
        if option.per_member
        or option.check is not None
        or option.type is options.OptionType.MAP
    ]
    if newer and version < 2:
        yield f'its options need contract_version = 2: {", ".join(newer)}'


def _source_faults(declared: Any, names: set[str]) -> Iterator[str]:
    if not isinstance(declared, tuple) or not all(
        isinstance(source, options.Source) for source in declared
    ):
        yield 'its sources are not a tuple of Source'
    called = [source.name for source in declared]
    for source in declared:
        name = source.name
        if not isinstance(name, str) or not name.isidentifier():
            yield f'{name!r} is not the name of a source'
        if name in names or called.count(name) > 1:
            yield f'two options or sources are called {name!r}'
        if not callable(source.read):
            yield f'the source {name!r} has no function that reads it'
        if not _is_number(source.interval, _SHORTEST_INTERVAL, float('inf')):
            yield f'the interval of the source {name!r} is less than 1'
        if not _is_number(source.timeout, 0.001, _LONGEST_TIMEOUT):
            yield f'the timeout of the source {name!r} is not 0 to 60'


def _is_number(value: object, least: float, most: float) -> bool:
    return isinstance(value, int | float) and least <= value <= most


def _assigner_faults(target: type[policy.AssignerPolicy]) -> Iterator[str]:
    base = policy.AssignerPolicy
    if target.assign is base.assign and target.choose is base.choose:
        yield 'it does not implement assign'
    if target.contract_version < 2 and (
        target.choose is not base.choose or target.reads_owners
    ):
        yield 'choose and reads_owners need contract_version = 2'
    share = target.extra_movement
    if not isinstance(share, int | float) or not 0 <= share <= 1:
        yield f'its extra_movement {share!r} is not a share from 0 to 1'
