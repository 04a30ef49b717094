"""Sample nodes for policies: everyday ones, odd ones, many.

Always the same for the same arguments, in every process.
"""

from __future__ import annotations

import functools
import uuid
from collections.abc import Iterator, Sequence
from typing import Any

from ironic_ownership.contracts import model

_SPACE = uuid.UUID('6f1c0c4e-8f0a-4b3f-9a53-5a1d6f0e2b77')
_SHARDS = (None, 'a', 'b', 'Rack1')
_GROUPS = ('', 'g1', 'g2')
_DRIVERS = ('ipmi', 'redfish', 'fake-hardware')
_CLASSES = (None, 'baremetal', 'gpu', 'large')
_STATES = ('available', 'active', 'manageable', 'cleaning', 'enroll')


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
        provision_state='active' if deployed else _STATES[number % 5],
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


class NotRequested(dict[str, Any]):
    """An empty dictionary that notes if a policy reads it.

    Of a field that no policy requests.

    :ivar was_read: whether it was read.
    """

    was_read = False

    def __contains__(self, key: object) -> bool:
        self.was_read = True
        return False

    def __getitem__(self, key: str) -> Any:
        self.was_read = True
        raise KeyError(key)

    def __iter__(self) -> Iterator[str]:
        self.was_read = True
        return iter(())

    def __len__(self) -> int:
        self.was_read = True
        return 0

    def get(self, key: str, default: object = None) -> Any:
        """Return the default."""
        self.was_read = True
        return default

    def items(self) -> Any:
        """Return no items."""
        self.was_read = True
        return super().items()

    def keys(self) -> Any:
        """Return no keys."""
        self.was_read = True
        return super().keys()

    def values(self) -> Any:
        """Return no values."""
        self.was_read = True
        return super().values()

    def __deepcopy__(self, memo: object) -> NotRequested:
        return NotRequested()


def plain(value: object) -> object:
    """Return a value without the memory of who read it."""
    if isinstance(value, NotRequested):
        return {key: dict.get(value, key) for key in dict.keys(value)}
    return value


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
