"""Validation of plugin classes, before one is built.

Shared by the loader and the contract suites.
"""

from __future__ import annotations

import inspect

from ironic_ownership.contracts import backend, model, options, policy


def policy_fault(target: object) -> str | None:
    """Return the fault of a policy class; ``None`` if it has none."""
    fault = _fault(target, policy.FilterPolicy, policy.AssignerPolicy)
    if fault is not None:
        return fault
    assert isinstance(target, type) and issubclass(target, policy.Policy)
    fields = target.node_fields
    known = sorted(policy.ON_REQUEST)
    if not isinstance(fields, tuple) or any(f not in known for f in fields):
        return f'its node_fields {fields!r} are no tuple of {", ".join(known)}'
    if issubclass(target, policy.AssignerPolicy):
        return _movement_fault(target)
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
        return f'{target!r} is no subclass of {one_of}'
    version = getattr(target, 'contract_version', None)
    if not isinstance(version, int):
        return 'it declares no contract_version'
    if version != model.CONTRACT_VERSION:
        return (
            f'it is written for contract version {version}, this release '
            f'speaks {model.CONTRACT_VERSION}'
        )
    if inspect.isabstract(target):
        missing = sorted(getattr(target, '__abstractmethods__', ()))
        return f'it does not implement {", ".join(missing)}'
    if hasattr(target, '__len__') or hasattr(target, '__bool__'):
        return 'it defines __len__ or __bool__'
    return _options_fault(getattr(target, 'options', None))


def _options_fault(declared: object) -> str | None:
    if not isinstance(declared, tuple) or not all(
        isinstance(option, options.Option) for option in declared
    ):
        return 'its options are not a tuple of Option'
    names = [
        name for option in declared for name in (option.name, *option.aliases)
    ]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        return f'its options have one name twice: {", ".join(twice)}'
    return None


def _movement_fault(target: type[policy.AssignerPolicy]) -> str | None:
    share = target.extra_movement
    if not isinstance(share, int | float) or not 0 <= share <= 1:
        return f'its extra_movement {share!r} is no share from 0 to 1'
    return None
