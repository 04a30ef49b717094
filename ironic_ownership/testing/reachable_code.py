"""Reachable code of a plugin: its functions, and the state that they use.

Found by reading bytecode, without a call: what a function loads by name is
followed through the modules of the plugin's own package.
"""

from __future__ import annotations

import dataclasses
import dis
import functools
import importlib.metadata  # noqa: F401 - named in _MODULES
import os  # noqa: F401 - as above
import posixpath  # noqa: F401 - as above
import sys
import time  # noqa: F401 - as above
import types
import uuid  # noqa: F401 - as above
from collections.abc import Iterator, Mapping
from typing import Any

_CONTRACTS = 'ironic_ownership.contracts'
_MODULES: Mapping[str, frozenset[str]] = {
    'importlib.metadata': frozenset(
        ('distribution', 'distributions', 'entry_points', 'version')
    ),
    'os': frozenset(
        ('environ', 'environb', 'getenv', 'getenvb', 'name', 'supports_fd')
    ),
    'posixpath': frozenset(
        (
            *('abspath', 'exists', 'expanduser', 'expandvars', 'getatime'),
            *('getctime', 'getmtime', 'getsize', 'isdir', 'isfile', 'islink'),
            *('ismount', 'lexists', 'realpath', 'samefile'),
        )
    ),
    'sys': frozenset(
        (
            *('api_version', 'argv', 'base_prefix', 'byteorder', 'executable'),
            *('flags', 'getdefaultencoding', 'getfilesystemencoding'),
            *('getrecursionlimit', 'getrefcount', 'getsizeof'),
            *('getswitchinterval', 'hash_info', 'hexversion'),
            *('implementation', 'maxsize', 'modules', 'path', 'platform'),
            *('prefix', 'stdin', 'thread_info', 'version', 'version_info'),
        )
    ),
    'time': frozenset(('altzone', 'daylight', 'timezone', 'tzname')),
    'uuid': frozenset(('getnode', 'uuid1', 'uuid4')),
}
_WHOLE_MODULES = frozenset(
    (
        *('_queue', '_thread', 'asyncio', 'gc', 'getpass', 'locale'),
        *('multiprocessing', 'platform', 'queue', 'resource', 'secrets'),
        *('select', 'signal', 'socket', 'subprocess', 'tempfile', 'threading'),
    )
)
"""Modules that ask the machine or the process, wait, or keep state: a policy
needs nothing of them."""
_SHORT = 20
"""Length of a text up to which equal ones may be one object."""


def _imported() -> Iterator[tuple[int, str]]:
    for module, names in _MODULES.items():
        for name in sorted(names):
            value = getattr(sys.modules[module], name, None)
            if not (
                value is None
                or isinstance(value, int)
                or (isinstance(value, str) and len(value) < _SHORT)
            ):
                yield id(value), f'{module}.{name}'


_IMPORTED: Mapping[int, str] = dict(_imported())
"""Values that a module can import by name, by their identity."""


@dataclasses.dataclass
class Code:
    """The code that a class reaches in its own package.

    :ivar functions: by qualified name.
    :ivar classes: the class and its bases, and further ones.
    :ivar names: namespace and name of each global value that is used, by
        qualified name; the value may be replaced at any time.
    :ivar outside: reads of the process or of the machine, with their place.
    """

    functions: dict[str, types.FunctionType] = dataclasses.field(
        default_factory=dict
    )
    classes: list[type] = dataclasses.field(default_factory=list)
    names: dict[str, tuple[dict[str, Any], str]] = dataclasses.field(
        default_factory=dict
    )
    outside: list[str] = dataclasses.field(default_factory=list)


def of(target: type) -> Code:
    """Return the code that the methods of a class reach."""
    walk = _Walk(target.__module__.partition('.')[0])
    walk.follow(target)
    return walk.found


def is_own(package: str, thing: Any) -> bool:
    """Tell whether a class, function or module is of the package."""
    name = getattr(thing, '__module__', None)
    if isinstance(thing, types.ModuleType):
        name = thing.__name__
    return (
        isinstance(name, str)
        and name.partition('.')[0] == package
        and not name.startswith(_CONTRACTS)
    )


class _Reading:
    """Values that earlier instructions of a function have loaded."""

    def __init__(self) -> None:
        self._modules: dict[str, object] = {}
        self._copied: object = None
        self._imported = self._last = ''
        self.before: object = None

    @property
    def module(self) -> object:
        """The module that was imported last."""
        return sys.modules.get(self._imported)

    @property
    def owner(self) -> object:
        """The owner of an attribute that is set."""
        return self._copied if self._last == 'SWAP' else self.before

    def other(self, name: str, value: Any) -> object:
        """Return what an instruction loads that concerns no attribute."""
        if name == 'IMPORT_NAME':
            self._imported = value
        elif name.startswith('STORE_') and self._last == 'IMPORT_NAME':
            self._modules[value] = self.module
        elif name in ('LOAD_FAST', 'LOAD_DEREF'):
            return self._modules.get(value)
        elif name == 'COPY':  # of "module.name += 1"
            self._copied = self.before
            return self.before
        return None

    def passed(self, name: str, loaded: object) -> None:
        """Go on to the next instruction."""
        self._last, self.before = name, loaded


class _Walk:
    def __init__(self, package: str) -> None:
        self._package = package
        self._seen: set[int] = set()
        self.found = Code()

    def follow(self, thing: Any) -> None:
        for part in _unwrapped(thing):
            if id(part) in self._seen or not is_own(self._package, part):
                continue
            self._seen.add(id(part))
            if isinstance(part, types.FunctionType):
                name = f'{part.__module__}.{part.__qualname__}'
                self.found.functions[name] = part
                self._read(part.__code__, part.__globals__)
                for value in closure(part):
                    self._named(part.__code__, value)
                    self.follow(value)
            elif isinstance(part, type):
                self.found.classes.append(part)
                for base in part.__mro__[1:]:
                    self.follow(base)
                for member in vars(part).values():
                    self.follow(member)

    def _read(self, code: types.CodeType, namespace: dict[str, Any]) -> None:
        reading = _Reading()
        for instruction in dis.get_instructions(code):
            name, value = instruction.opname, instruction.argval
            loaded: object = None
            if name in ('LOAD_GLOBAL', 'LOAD_NAME', 'STORE_GLOBAL'):
                loaded = self._global(code, namespace, value)
            elif name == 'IMPORT_FROM':
                self._attribute(code, reading.module, value)
            elif name in ('LOAD_ATTR', 'LOAD_METHOD'):
                loaded = self._attribute(code, reading.before, value)
            elif name == 'STORE_ATTR':
                self._stored(code, reading.owner, value)
            else:
                loaded = reading.other(name, value)
            reading.passed(name, loaded)
        for constant in code.co_consts:
            if isinstance(constant, types.CodeType):
                self._read(constant, namespace)

    def _global(
        self, code: types.CodeType, namespace: dict[str, Any], name: str
    ) -> object:
        if name not in namespace:
            return None
        value = namespace[name]
        self._named(code, value)
        self._use(namespace, name)
        return value

    def _named(self, code: types.CodeType, value: object) -> None:
        """Report a value that was imported by its name."""
        known = _IMPORTED.get(id(value))
        if known is not None:
            self._report(code, known)
        elif (
            callable(value)
            and getattr(value, '__module__', None) in _WHOLE_MODULES
        ):
            known = getattr(value, '__name__', type(value).__name__)
            self._report(code, f'{value.__module__}.{known}')

    def _attribute(
        self, code: types.CodeType, owner: object, name: str
    ) -> object:
        if not isinstance(owner, types.ModuleType):
            return None
        where = owner.__name__
        if where in _WHOLE_MODULES or name in _MODULES.get(where, ()):
            self._report(code, f'{where}.{name}')
        if is_own(self._package, owner) and name in vars(owner):
            self._use(vars(owner), name)
        return getattr(owner, name, None)

    def _stored(self, code: types.CodeType, owner: object, name: str) -> None:
        if not isinstance(owner, types.ModuleType):
            return
        if is_own(self._package, owner) and name in vars(owner):
            self._use(vars(owner), name)
        else:
            self._report(code, f'{owner.__name__}.{name} is set')

    def _use(self, namespace: dict[str, Any], name: str) -> None:
        value = namespace[name]
        if isinstance(value, types.ModuleType):
            return
        if isinstance(value, type | types.FunctionType):
            self.follow(value)
            return
        self.found.names[f'{namespace.get("__name__")}.{name}'] = (
            namespace,
            name,
        )
        self.follow(type(value))

    def _report(self, code: types.CodeType, what: str) -> None:
        self.found.outside.append(
            f'{what} in {code.co_qualname} at '
            f'{code.co_filename}:{code.co_firstlineno}'
        )


def closure(function: types.FunctionType) -> Iterator[Any]:
    """Yield the values of the variables of enclosing functions."""
    for cell in function.__closure__ or ():
        try:
            yield cell.cell_contents
        except ValueError:  # not set yet
            continue


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
