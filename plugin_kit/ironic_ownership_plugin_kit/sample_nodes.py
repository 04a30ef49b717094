"""Sample nodes for policies: everyday ones, odd ones, many.

Always the same for the same arguments, in every process.
"""

from __future__ import annotations

import copy
import dataclasses
import functools
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from ironic_ownership.contracts import model

_SPACE = uuid.UUID('6f1c0c4e-8f0a-4b3f-9a53-5a1d6f0e2b77')
_INSTANCE = '1a3dbc5b-9a4e-4f4e-9d0a-d4a41e4f6d3c'
_SHARDS = (None, 'a', 'b', 'Rack1')
_GROUPS = ('', 'g1', 'g2')
_DRIVERS = ('ipmi', 'redfish', 'fake-hardware')
_CLASSES = (None, 'baremetal', 'gpu', 'large')
_KINDS = ('available', 'active', 'manageable', 'cleaning', 'enroll')
_POWER = (None, 'power on', 'power off', 'error', 'rebooting')
_PROVISION = (
    *(None, 'active', 'adopt failed', 'adopting', 'available', 'clean failed'),
    *('clean hold', 'clean wait', 'cleaning', 'deleted', 'deleting'),
    *('deploy failed', 'deploy hold', 'deploying', 'enroll', 'error'),
    *('inspect failed', 'inspect wait', 'inspecting', 'manageable', 'rebuild'),
    *('rescue', 'rescue failed', 'rescue wait', 'rescuing', 'service failed'),
    *('service hold', 'service wait', 'servicing', 'unrescue failed'),
    *('unrescuing', 'verifying', 'wait call-back'),
)
_STATES: Mapping[str, tuple[int, tuple[str | None, ...]]] = {
    'provision_state': (1, _PROVISION),
    'target_provision_state': (5, _PROVISION),
    'power_state': (1, _POWER),
    'target_power_state': (3, _POWER),
    'reservation': (1, (None, 'conductor-1', 'conductor-2')),
    'instance_uuid': (1, (None, _INSTANCE)),
}
"""Step and values of each field that changes by itself."""
_ERRORS = frozenset(
    ('clean_step', 'deploy_step', 'fault', 'last_error', 'updated_at')
)
"""Fields to request that change by themselves."""


def fleet(count: int, scope: model.Scope | None = None) -> list[model.Node]:
    """Return different nodes, of the kinds that deployments have.

    :param scope: the scope of all of them; by default they are everywhere.
    """
    return [_node(number, scope or model.Scope()) for number in range(count)]


@functools.cache
def _uuid(name: str) -> str:
    return str(uuid.uuid5(_SPACE, name))


def _node(number: int, scope: model.Scope) -> model.Node:
    rack = f'rack{number % 7}'
    deployed = number % 5 == 0
    return model.Node(
        uuid=_uuid(str(number)),
        name=f'node-{number}',
        driver=_DRIVERS[number % 3],
        conductor_group=(
            _GROUPS[number // 4 % 3]
            if scope.conductor_group is None
            else scope.conductor_group
        ),
        shard=_SHARDS[number % 4] if scope.shard is None else scope.shard,
        instance_uuid=(_uuid(f'instance {number}') if deployed else None),
        provision_state='active' if deployed else _KINDS[number % 5],
        power_state='power on' if deployed else 'power off',
        maintenance=number % 11 == 0,
        resource_class=_CLASSES[number % 4],
        properties={
            'cpus': 2 ** (number % 6),
            'cpu_arch': 'x86_64',
            'capabilities': 'boot_mode:uefi',
            'rack': rack,
        },
        traits=('CUSTOM_GPU',) if number % 6 == 0 else (),
        extra={'rack': rack, 'building': f'b{number % 2}'},
    )


def with_constants(
    constants: Sequence[str | int], scope: model.Scope | None
) -> Iterator[model.Node]:
    """Yield a node for each constant of a policy, which has it everywhere."""
    for number, constant in enumerate(constants):
        text = str(constant)
        values = {k: constant for k in constants if isinstance(k, str)}
        yield dataclasses.replace(
            _node(number, scope or model.Scope()),
            uuid=_uuid(f'constant {constant!r}'),
            name=text,
            driver=text,
            resource_class=text,
            traits=(text,),
            properties=values,
            extra=values,
            fields=values,
        )


class Anything(dict[str, Any]):
    """A dictionary with the same value under every key.

    Operators write values of any type into ``properties`` and ``extra``.
    """

    def __init__(self, value: object) -> None:
        super().__init__()
        self._value = value

    def __contains__(self, key: object) -> bool:
        return True

    def __getitem__(self, key: str) -> Any:
        return self._value

    def get(self, key: str, default: object = None) -> Any:
        """Return the one value."""
        return self._value


class Requested(dict[str, Any]):
    """A dictionary that notes if a policy reads what it did not request.

    :param name: of the field of the node.
    :param values: what the policy requests; nothing by default.
    :ivar was_read: the first that was read, without being requested.
    """

    def __init__(
        self, name: str, values: Mapping[str, Any] | None = None
    ) -> None:
        super().__init__(values or {})
        self._name = name
        self.was_read = ''

    def _note(self, key: object = None) -> None:
        if not dict.__len__(self):
            self.was_read = self._name
        elif key is not None and not dict.__contains__(self, key):
            self.was_read = f'{self._name}[{key!r}]'

    def __deepcopy__(self, memo: object) -> Requested:
        return Requested(self._name, copy.deepcopy(plain(self)))  # type: ignore[arg-type]


def _noting(name: str, has_key: bool) -> Callable[..., Any]:
    original = getattr(dict, name)

    def noted(self: Requested, *arguments: Any) -> Any:
        self._note(*arguments[:has_key])
        return original(self, *arguments)

    return noted


for _method in ('__contains__', '__getitem__', 'get'):
    setattr(Requested, _method, _noting(_method, has_key=True))
for _method in (
    *('__eq__', '__iter__', '__len__', '__ne__', '__or__', '__reversed__'),
    *('copy', 'items', 'keys', 'values'),
):
    setattr(Requested, _method, _noting(_method, has_key=False))


def plain(value: object) -> object:
    """Return a value without the memory of who read it."""
    if isinstance(value, Requested):
        return {key: dict.get(value, key) for key in dict.keys(value)}
    return value


def with_extra(nodes: Iterable[model.Node]) -> list[model.Node]:
    """Return nodes with any ``extra``."""
    return [
        dataclasses.replace(
            node, extra={'rack': f'rack{number % 7}', 'owner': 'x' * number}
        )
        for number, node in enumerate(nodes)
    ]


def in_other_states(
    nodes: Sequence[model.Node], part: int
) -> list[model.Node]:
    """Return nodes in states that change by themselves.

    :param part: number of the round; each gives a node another state.
    """
    found = []
    for number, node in enumerate(nodes):
        place = number + part * len(nodes)
        states = {
            name: values[(place * step) % len(values)]
            for name, (step, values) in _STATES.items()
        }
        errors = {n: f'{n} {place % 2}' for n in _ERRORS & {*node.fields}}
        fields = {**node.fields, **errors}
        found.append(dataclasses.replace(node, fields=fields, **states))  # type: ignore[arg-type]
    return found


def state_of(node: model.Node) -> str:
    """Return the states of a node that change by themselves, in words."""
    states = {name: getattr(node, name) for name in _STATES} | {
        name: node.fields[name] for name in sorted(_ERRORS & {*node.fields})
    }
    return ', '.join(f'{name} {value}' for name, value in states.items())


_ODD_VALUES: Sequence[object] = (
    None,
    5,
    0.5,
    True,
    '',
    'x' * 4096,
    'Ünï cödé/: \n',
    [],
    ['a', 1],
    {},
    {'a': {'b': None}},
)


def odd(scope: model.Scope | None = None) -> Iterator[model.Node]:
    """Yield nodes that no deployment should have, and some deployment has.

    :param scope: the scope of all but the last one.
    """
    place = {
        'shard': scope.shard if scope else None,
        'conductor_group': (scope.conductor_group if scope else None) or '',
    }
    yield model.Node(_uuid('bare'), **place)  # type: ignore[arg-type]
    for number, value in enumerate(_ODD_VALUES):
        text = value if isinstance(value, str) else None
        yield model.Node(
            uuid=_uuid(f'odd {number}'),
            name=text,
            driver=text or '',
            provision_state=text,
            power_state=text,
            reservation=text,
            resource_class=text,
            retired=True,
            properties=Anything(value),
            traits=() if text is None else (text,),
            extra=Anything(value),
            **place,  # type: ignore[arg-type]
        )
    yield model.Node(
        uuid=_uuid('elsewhere'),
        shard='no such shard \N{SNOWMAN}',
        conductor_group='no-such-group',
    )
