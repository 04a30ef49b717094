"""Own code of a plugin: its functions, their state, and their constants.

Found without a call: the names that a function uses are followed through the
modules of the plugin's own package.
"""

from __future__ import annotations

import functools
import sys
import types
from collections.abc import Iterator
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
