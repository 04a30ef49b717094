"""Detection of state that a plugin keeps between calls, and of its locks.

Compares what an instance, its classes and the globals of its package hold
before and after calls. A cache of ``functools.lru_cache`` is no such state:
it is safe between threads, and its answers are those of the function.
"""

from __future__ import annotations

import argparse
import array
import collections
import contextvars
import functools
import queue
import random
import threading
import types
from collections.abc import Iterator, Mapping
from typing import Any

from ironic_ownership_plugin_kit import own_code

_PLAIN = (bool, int, float, complex, str, bytes, type(None))
_LEAVES = (
    *(type, types.FunctionType, types.MethodType, types.ModuleType),
    *(types.BuiltinFunctionType, functools.cached_property),
)
_LOCKS = (
    *(type(threading.Lock()), type(threading.RLock())),
    *(threading.Condition, threading.Semaphore, threading.Event),
    *(threading.Barrier, queue.Queue, queue.SimpleQueue),
)
_NAMESPACES = types.SimpleNamespace, argparse.Namespace, threading.local
_IGNORED = frozenset(('__dict__', '__weakref__', '__doc__', '__module__'))
_DEPTH = 12


class State:
    """The state that a policy can reach.

    :param instance: its attributes belong to the state.
    """

    def __init__(self, instance: object) -> None:
        self._instance = instance
        self._code = own_code.Code(type(instance))

    def snapshot(self) -> Mapping[str, object]:
        """Return the state by the name of its holder, to compare."""
        return {
            name: _Frozen(self._code).of(value)
            for name, value in self._values()
        }

    def locks(self) -> list[str]:
        """Return the names of those that hold a lock."""
        return [f'lock in {name}' for name in self._holders(_LOCKS)]

    def iterators(self) -> list[str]:
        """Return the names of those that hold an iterator.

        Each use of an iterator changes it.
        """
        return self._holders((Iterator,))

    def _holders(self, kinds: tuple[type, ...]) -> list[str]:
        found = []
        for name, value in self._values():
            frozen = _Frozen(self._code, kinds)
            frozen.of(value)
            if frozen.found:
                found.append(name)
        return found

    def _values(self) -> Iterator[tuple[str, object]]:
        for name, value in _attributes(self._instance):
            yield f'self.{name}', value
        for name, (namespace, key) in list(self._code.names.items()):
            yield name, namespace.get(key)
        for owner in self._code.classes:
            for name, value in list(vars(owner).items()):
                if not (name.startswith('_abc_') or name in _IGNORED):
                    yield f'{owner.__name__}.{name}', value
        for name, function in self._code.functions.items():
            yield (
                f'a default of {name}',
                (function.__defaults__, function.__kwdefaults__),
            )
            yield f'an attribute of {name}', vars(function)
            for value in own_code.closure(function):
                yield f'a variable of {name}', value


class _Frozen:
    """Converts one value to one that stays as it is."""

    def __init__(
        self, code: own_code.Code, kinds: tuple[type, ...] = ()
    ) -> None:
        self._code = code
        self._open: set[int] = set()
        self._kinds = kinds
        self.found = False

    def of(self, value: Any) -> object:
        if isinstance(value, _PLAIN):
            return type(value).__name__, value
        self.found = self.found or isinstance(value, self._kinds)
        if (
            isinstance(value, (*_LEAVES, *_LOCKS))
            or id(value) in self._open
            or len(self._open) > _DEPTH
        ):
            return id(value)
        self._open.add(id(value))
        try:
            return type(value).__name__, self._content(value)
        finally:
            self._open.discard(id(value))

    def _content(self, value: Any) -> object:
        if isinstance(value, Mapping):
            return [
                (self.of(key), self.of(one))
                for key, one in list(value.items())
            ]
        if isinstance(value, list | tuple | collections.deque):
            return [self.of(one) for one in list(value)]
        if isinstance(value, set | frozenset):
            return sorted(repr(self.of(one)) for one in value)
        if isinstance(value, random.Random):
            return value.getstate()
        if isinstance(value, bytearray | memoryview | array.array):
            return bytes(value)
        if isinstance(value, contextvars.ContextVar):
            return self.of(value.get(None))
        # Libraries keep state of their own: loggers, compiled patterns.
        if isinstance(value, _NAMESPACES) or self._code.is_own(type(value)):
            return [(name, self.of(one)) for name, one in _attributes(value)]
        return id(value)


def _attributes(instance: Any) -> Iterator[tuple[str, object]]:
    yield from list(getattr(instance, '__dict__', {}).items())
    for owner in type(instance).__mro__:
        slots = vars(owner).get('__slots__', ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if name not in _IGNORED and hasattr(instance, name):
                yield name, getattr(instance, name)
