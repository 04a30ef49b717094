"""Servers and the network paths to them: where a call may be lost or late."""

from __future__ import annotations

import collections
import contextvars
import dataclasses
import functools
import inspect
from collections.abc import Callable
from typing import Any

from tests.simulation.loop import Loop, Process


@dataclasses.dataclass
class Link:
    """The path of one process to one server.

    :ivar is_cut: every call fails at once.
    :ivar is_silent: every call fails after its time-out.
    :ivar latency: seconds of a message, at most.
    :ivar loses: share of the requests, and of the answers, that are lost.
    """

    is_cut: bool = False
    is_silent: bool = False
    latency: float = 0.0
    loses: float = 0.0


class Server:
    """A server that processes call.

    :param error: class of the error that a lost call raises.
    :ivar is_down: refuses every call; ``is_frozen``: answers none.
    :ivar timeout: seconds after which a caller gives up.
    :ivar usual: seconds that a message takes, at most.
    :ivar steps: how often each kind of call was made, by its name.
    :ivar beats: begin and end of each heartbeat that it accepted, by the
        name of the process.
    """

    timeout = 15.0
    usual = 0.02

    def __init__(self, loop: Loop, error: Callable[[str], Exception]) -> None:
        self.loop, self._error = loop, error
        self.is_down = self.is_frozen = False
        self.links: dict[tuple[str, str], Link] = {}
        self.steps: collections.Counter[str] = collections.Counter()
        self.beats: dict[str, list[tuple[float, float]]] = {}

    def link(self, process: Process, path: str) -> Link:
        """Return the path of a process to this server."""
        return self.links.setdefault((process.name, path), Link())

    def request(self, path: str, what: str) -> None:
        """Let a request travel, or fail."""
        self.called(what)
        self._travel(path, what, 'request')

    def answer(self, path: str, what: str) -> None:
        """Let an answer travel, or fail."""
        self.called(f'{what}-answered')
        self._travel(path, what, 'answer')

    def called(self, what: str) -> None:
        """Note a step of the process that runs, at which a fault may come."""
        self.steps[what] += 1
        self.loop.process.called(what)

    def is_disturbed(self, path: str) -> bool:
        """Tell whether answers to the process may be late or lost."""
        link = self.link(self.loop.process, path)
        return self.is_frozen or link != Link()

    def beaten(self, began: float) -> None:
        """Note an accepted heartbeat of the process that runs."""
        beats = self.beats.setdefault(self.loop.process.name, [])
        beats.append((began, self.loop.now))

    def _travel(self, path: str, what: str, leg: str) -> None:
        loop = self.loop
        if loop.is_over:
            loop.give_way()
        link, rng = self.link(loop.process, path), loop.rng
        if rng.random() < 0.25:
            most = link.latency or self.usual
            loop.give_way(rng.random() * most)
        else:
            loop.give_way(link.latency * rng.random())
        while self.is_frozen or link.is_silent:
            loop.give_way(self.timeout)
            if self.is_frozen or link.is_silent:
                raise self._error(f'no answer ({leg} of {what})')
        if (
            self.is_down
            or link.is_cut
            or (link.loses and rng.random() < link.loses)
        ):
            raise self._error(f'{leg} of {what} lost')


class Port:
    """A port to a server: each of its calls is a request and an answer.

    :param target: does the work, at the server.
    """

    def __init__(self, target: Any, server: Server, path: str) -> None:
        self._target, self._server, self._path = target, server, path

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._target, name)
        if not callable(found) or name == 'close':
            return found

        def call(*args: Any, **kwargs: Any) -> Any:
            began = self._server.loop.now
            self._server.request(self._path, name)
            result = found(*args, **kwargs)
            self._server.answer(self._path, name)
            if name in ('beat', 'join'):
                self._server.beaten(began)
            return result

        return call


EPOCH: contextvars.ContextVar[int | None] = contextvars.ContextVar(
    'epoch', default=None
)
"""The epoch under which this thread writes; inherited by its calls."""


class Writer:
    """The records, with the epoch of each call as its caller states it.

    :param server: of the records; those calls are steps of it.
    """

    def __init__(self, target: Any, server: Server) -> None:
        self._target, self._server = target, server

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._target, name)
        if name not in _writing(type(self._target)):
            return found

        def call(*args: Any, **kwargs: Any) -> Any:
            self._server.called(name)
            # Registrations have no epoch yet.
            token = EPOCH.set(None if name == 'register' else args[1])
            try:
                return found(*args, **kwargs)
            finally:
                EPOCH.reset(token)

        return call


@functools.cache
def _writing(kind: type) -> frozenset[str]:
    """Return the methods by which a service writes its own rows."""
    return frozenset(
        name
        for name, found in inspect.getmembers(kind, callable)
        if name[0] != '_'
        and (
            name == 'register'
            or 'epoch' in inspect.signature(found).parameters
        )
    )
