"""Own code of a plugin: its functions, their constants, state and locks.

Found without a call: the names that a function uses are followed through the
modules of the plugin's own package. The state is what an instance, its classes
and the globals of its package hold, compared before and after calls. A cache
of ``functools.lru_cache`` is no such state: it is safe between threads, and
its answers are those of the function.
"""

from __future__ import annotations

import argparse
import array
import collections
import contextvars
import functools
import queue
import random
import sys
import threading
import types
from collections.abc import Iterator, Mapping
from typing import Any

_CONTRACTS = 'ironic_ownership.contracts'
_MOST = 60
"""Most constants that are returned."""
_LENGTH = 40
"""Characters of a text from which it is no value, but a message."""


class Code:
    """The code that a class reaches in its own package.

    :ivar functions: by qualified name.
    :ivar classes: the class and its bases, and further ones.
    :ivar names: namespace and name of each global value that is used, by
        qualified name; the value may be replaced at any time.
    """

    def __init__(self, target: type) -> None:
        self.functions: dict[str, types.FunctionType] = {}
        self.classes: list[type] = []
        self.names: dict[str, tuple[dict[str, Any], str]] = {}
        self._package = target.__module__.partition('.')[0]
        self._seen: set[int] = set()
        self._follow(target)

    def is_own(self, thing: Any) -> bool:
        """Tell whether a class, function or module is of the package."""
        name = getattr(thing, '__module__', None)
        if isinstance(thing, types.ModuleType):
            name = thing.__name__
        return (
            isinstance(name, str)
            and name.partition('.')[0] == self._package
            and not name.startswith(_CONTRACTS)
        )

    def constants(self) -> list[str | int]:
        """Return the texts and numbers in the code: it may decide by them."""
        used = [space.get(name) for space, name in self.names.values()]
        for function in self.functions.values():
            for code in _codes(function.__code__):
                used.append(code.co_consts)
        found = {
            one
            for one in _flat(used)
            if type(one) in (str, int) and len(str(one)) < _LENGTH
        }
        return sorted(found, key=repr)[:_MOST]

    def _follow(self, thing: Any) -> None:
        for part in _unwrapped(thing):
            if id(part) in self._seen or not self.is_own(part):
                continue
            self._seen.add(id(part))
            if isinstance(part, types.FunctionType):
                self.functions[f'{part.__module__}.{part.__qualname__}'] = part
                self._read(part)
                for value in closure(part):
                    self._follow(value)
            elif isinstance(part, type):
                self.classes.append(part)
                for member in (*part.__mro__[1:], *vars(part).values()):
                    self._follow(member)

    def _read(self, function: types.FunctionType) -> None:
        names = [n for c in _codes(function.__code__) for n in c.co_names]
        spaces = [function.__globals__]
        for name in names:
            module = spaces[0].get(name, sys.modules.get(name))
            if isinstance(module, types.ModuleType) and self.is_own(module):
                spaces.append(vars(module))
        for space in spaces:
            for name in names:
                if name in space:
                    self._use(space, name)

    def _use(self, space: dict[str, Any], name: str) -> None:
        value = space[name]
        if isinstance(value, types.ModuleType):
            return
        if not isinstance(value, type | types.FunctionType):
            self.names[f'{space.get("__name__")}.{name}'] = space, name
            value = type(value)
        self._follow(value)


def closure(function: types.FunctionType) -> Iterator[Any]:
    """Yield the values of the variables of enclosing functions."""
    for cell in function.__closure__ or ():
        try:
            yield cell.cell_contents
        except ValueError:  # not set yet
            continue


def _flat(value: object) -> Iterator[Any]:
    if isinstance(value, list | tuple | set | frozenset | dict):
        for one in value:
            yield from _flat(one)
    else:
        yield value


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _codes(constant)


def _unwrapped(thing: Any) -> Iterator[Any]:
    if isinstance(thing, staticmethod | classmethod):
        inner: tuple[Any, ...] = (thing.__func__,)
    elif isinstance(thing, property):
        inner = thing.fget, thing.fset
    elif isinstance(thing, functools.cached_property | functools.partial):
        inner = (thing.func,)
    else:
        yield thing
        inner = (getattr(thing, '__wrapped__', None),)
    for part in inner:
        if part is not None:
            yield from _unwrapped(part)


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
        self._code = Code(type(instance))

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
            for value in closure(function):
                yield f'a variable of {name}', value


class _Frozen:
    """Converts one value to one that stays as it is."""

    def __init__(self, code: Code, kinds: tuple[type, ...] = ()) -> None:
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
