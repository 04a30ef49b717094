"""Validation of plugin classes, before one is built.

Shared by the loader and the contract suites.
"""

from __future__ import annotations

import inspect
import re

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
    fault = _fault(target, policy.FilterPolicy, policy.AssignerPolicy)
    if fault is not None:
        return fault
    assert isinstance(target, type) and issubclass(target, policy.Policy)
    fields: object = target.node_fields
    if not isinstance(fields, tuple):
        return f'its node_fields {fields!r} are not a tuple'
    for field in fields:
        fault = bare_metal.field_fault(field)
        if fault is None and target.contract_version < 2 and field != 'extra':
            fault = f'{field!r} needs contract_version = 2'
        if fault is not None:
            return f'its node_fields: {fault}'
    fault = _attribute_fault(target)
    if fault is not None:
        return fault
    names = {option.name for option in target.options}
    fault = _sources_fault(target.sources, names)
    if fault is None and target.sources and target.contract_version < 2:
        fault = 'its sources need contract_version = 2'
    if fault is not None:
        return fault
    if issubclass(target, policy.AssignerPolicy):
        return _assigner_fault(target)
    return None


def _attribute_fault(target: type[policy.Policy]) -> str | None:
    """Return an attribute that is code: all processes read these."""
    if target.__getattribute__ is not object.__getattribute__:
        return 'it defines __getattribute__'
    if type(target.deprecated) is not str:
        return 'its deprecated is not a text'
    for name in _FLAGS:
        if type(getattr(target, name, False)) is not bool:
            return f'its {name} is not a flag'
    return None


def backend_fault(target: object) -> str | None:
    """Return the fault of a backend class; ``None`` if it has none."""
    return _fault(target, backend.MembershipBackend)


def _fault(target: object, *bases: type) -> str | None:
    if not (
        inspect.isclass(target)
        and sum(issubclass(target, base) for base in bases) == 1
    ):
        one_of = ' or '.join(base.__name__ for base in bases)
        return f'{target!r} is not a subclass of {one_of}'
    version = getattr(target, 'contract_version', None)
    if not isinstance(version, int):
        return 'it declares no contract_version'
    if version not in model.SUPPORTED_VERSIONS:
        supported = ' and '.join(map(str, model.SUPPORTED_VERSIONS))
        return (
            f'it is written for contract version {version}, this release '
            f'supports {supported}'
        )
    if inspect.isabstract(target):
        missing = sorted(getattr(target, '__abstractmethods__', ()))
        return f'it does not implement {", ".join(missing)}'
    if hasattr(target, '__len__') or hasattr(target, '__bool__'):
        return 'it defines __len__ or __bool__'
    return _options_fault(getattr(target, 'options', None), version)


def _options_fault(declared: object, version: int) -> str | None:
    if not isinstance(declared, tuple) or not all(
        isinstance(option, options.Option) for option in declared
    ):
        return 'its options are not a tuple of Option'
    for option in declared:
        for name in (option.name, *option.aliases):
            if not isinstance(name, str) or not _NAME.fullmatch(name):
                return f'{name!r} is not the name of an option'
        if not isinstance(option.type, options.OptionType):
            return f'the option {option.name!r} has no OptionType'
    names = [
        name for option in declared for name in (option.name, *option.aliases)
    ]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        return f'its options have one name twice: {", ".join(twice)}'
    newer = [
        option.name
        for option in declared
        if option.per_member
        or option.check is not None
        or option.type is options.OptionType.MAP
    ]
    if newer and version < 2:
        return f'its options need contract_version = 2: {", ".join(newer)}'
    return None


def _sources_fault(declared: object, names: set[str]) -> str | None:
    if not isinstance(declared, tuple) or not all(
        isinstance(source, options.Source) for source in declared
    ):
        return 'its sources are not a tuple of Source'
    called = [source.name for source in declared]
    for source in declared:
        name = source.name
        if not isinstance(name, str) or not name.isidentifier():
            return f'{name!r} is not the name of a source'
        if name in names or called.count(name) > 1:
            return f'two options or sources are called {name!r}'
        if not callable(source.read):
            return f'the source {name!r} has no function that reads it'
        if not _is_number(source.interval, _SHORTEST_INTERVAL, float('inf')):
            return f'the interval of the source {name!r} is less than 1'
        if not _is_number(source.timeout, 0.001, _LONGEST_TIMEOUT):
            return f'the timeout of the source {name!r} is not 0 to 60'
    return None


def _is_number(value: object, least: float, most: float) -> bool:
    return isinstance(value, int | float) and least <= value <= most


def _assigner_fault(target: type[policy.AssignerPolicy]) -> str | None:
    base = policy.AssignerPolicy
    if target.assign is base.assign and target.choose is base.choose:
        return 'it does not implement assign'
    if target.contract_version < 2 and (
        target.choose is not base.choose or target.reads_owners
    ):
        return 'choose and reads_owners need contract_version = 2'
    share = target.extra_movement
    if not isinstance(share, int | float) or not 0 <= share <= 1:
        return f'its extra_movement {share!r} is not a share from 0 to 1'
    return None
