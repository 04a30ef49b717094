"""Several servers that form one store, and the network between them."""

from __future__ import annotations

import abc
import functools
import pathlib
import time
from collections.abc import Iterable
from typing import Generic, Self, TypeVar

from lab import network, process, server

S = TypeVar('S', bound=server.Server)

_PATIENCE = 180.0


class Cluster(abc.ABC, Generic[S]):
    """Three servers that know each other.

    :ivar network: between them, and between them and their clients. A server
        has the name of its directory there.
    :ivar ports: by which clients reach them through the network.
    """

    def __init__(self) -> None:
        self.servers: list[S] = []
        self.network = network.Network()
        self.ports: list[int] = []

    @property
    @abc.abstractmethod
    def url(self) -> str:
        """The URL with all the servers, as the product reads it."""

    def begin(self) -> None:
        """Start all the servers, and do not wait until they answer."""
        for member in self.servers:
            member.begin()

    def start(self) -> Self:
        """Start all the servers."""
        self.begin()
        for member in self.servers:
            member.wait()
        return self

    def stop(self) -> None:
        """Stop all the servers."""
        for member in self.servers:
            member.stop()

    def close(self) -> None:
        """Stop all the servers, and the network between them."""
        self.stop()
        self.network.close()

    def leader(self) -> S:
        """Return the server that leads, as soon as exactly one does.

        :raises LabError: if that does not happen.
        """
        gives_up = time.monotonic() + _PATIENCE
        while True:
            leading = [one for one in self.servers if self._leads(one)]
            if len(leading) == 1:
                return leading[0]
            if time.monotonic() > gives_up:
                raise process.LabError(f'{len(leading)} servers lead')
            time.sleep(0.1)

    def followers(self) -> list[S]:
        """Return the servers that do not lead now."""
        leader = self.leader()
        return [member for member in self.servers if member is not leader]

    def isolate(
        self, member: S, near: Iterable[str] = (), far: Iterable[str] = ()
    ) -> None:
        """Cut one server off from the others.

        :param near: names of clients that are on its side.
        :param far: of those on the other side; all others reach both.
        """
        others = [self.side(one) for one in self.servers if one is not member]
        self.network.partition(
            self.side(member).union(near), set(far).union(*others)
        )

    def side(self, member: S) -> set[str]:
        """Return the names of what runs on the machine of a server."""
        return {member.name}

    def leave_to_others(self, member: S) -> None:
        """Prepare the stop of a server for an upgrade."""
        self.leader()

    def repair(self) -> bool:
        """Do what an operator has to do for servers that cannot go on.

        :returns: whether that was necessary.
        """
        return False

    @abc.abstractmethod
    def _leads(self, member: S) -> bool:
        """Tell whether a server leads; not if it does not answer."""

    def _add(self, member: S) -> None:
        self.servers.append(member)
        self.network.name(member.name, functools.partial(_pid, member))
        self.ports.append(self.network.connect(member.name, member.port))


def homes(
    directory: pathlib.Path, kind: str, size: int = 3
) -> list[pathlib.Path]:
    """Create a directory for each server."""
    made = [directory / f'{kind}{number}' for number in range(size)]
    for home in made:
        home.mkdir()
    return made


def _pid(member: server.Server) -> int | None:
    return member.pid
