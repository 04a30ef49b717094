"""A private ZooKeeper from Debian's package, and what tests do to it."""

from __future__ import annotations

import contextlib
import os
import pathlib
import random
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time

from kazoo import client as kazoo

_JAR = pathlib.Path('/usr/share/java/zookeeper.jar')
_PORTS = range(10_000, 20_000)
_TICK = 200
"""Milliseconds; sessions end at most that much late."""


class ZooKeeper:
    """One server on a free port of 127.0.0.1.

    :param longest: seconds of the longest session that it grants.
    """

    def __init__(self, longest: float = 3600) -> None:
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix='zookeeper-'))
        self.port = _free_port()
        self._longest = longest
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        """The address on which it listens."""
        return f'127.0.0.1:{self.port}'

    def start(self) -> None:
        """Start it and wait until it answers."""
        java = shutil.which('java')
        if java is None or not _JAR.exists():
            raise AssertionError(
                'these tests need a ZooKeeper: install the Debian packages '
                'libzookeeper-java and default-jre-headless'
            )
        config = self.directory / 'zoo.cfg'
        config.write_text(
            f'dataDir={self.directory / "data"}\n'
            f'clientPort={self.port}\nclientPortAddress=127.0.0.1\n'
            f'tickTime={_TICK}\nminSessionTimeout={2 * _TICK}\n'
            f'maxSessionTimeout={round(self._longest * 1000)}\n'
            'maxClientCnxns=0\nadmin.enableServer=false\n'
            '4lw.commands.whitelist=srvr\n'
        )
        with (self.directory / 'log').open('ab') as log:
            self._process = subprocess.Popen(
                [
                    *(java, '-Xmx256m', '-XX:+UseSerialGC'),
                    *('-XX:TieredStopAtLevel=1', '-cp', str(_JAR)),
                    '-Dzookeeper.forceSync=no',
                    'org.apache.zookeeper.server.ZooKeeperServerMain',
                    str(config),
                ],
                cwd=self.directory,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        deadline = time.monotonic() + 120
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise AssertionError((self.directory / 'log').read_text())
            time.sleep(0.05)
        # Java is slow at first: what it does for the first time, it does now.
        client = kazoo.KazooClient(self.address, timeout=10)
        client.start(timeout=120)
        client.ensure_path('/warm')
        client.transaction().commit()
        client.stop()
        client.close()

    def stop(self) -> None:
        """Stop it; its data stay."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def remove(self) -> None:
        """Stop it and remove its files."""
        self.stop()
        shutil.rmtree(self.directory, ignore_errors=True)

    def restart(self, *, empty: bool = False) -> None:
        """Stop it and start it again, with its data or without."""
        self.stop()
        if empty:
            shutil.rmtree(self.directory / 'data')
        self.start()

    def freeze(self) -> None:
        """Let it answer nothing, its connections staying open."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)
        # The signal only begins it: a thread on another processor may still
        # answer. What is waited for is the last one's stop.
        os.waitid(os.P_PID, self._process.pid, os.WSTOPPED | os.WNOWAIT)

    def thaw(self) -> None:
        """End what :meth:`freeze` began."""
        if self._process is not None:
            self._process.send_signal(signal.SIGCONT)

    def _answers(self) -> bool:
        with (
            contextlib.suppress(OSError),
            socket.create_connection(('127.0.0.1', self.port), 5) as asked,
        ):
            # A server that answers "ruok" need not serve: who connects then
            # may wait indefinitely.
            asked.sendall(b'srvr')
            with asked.makefile('rb') as answer:
                return b'Mode: ' in answer.read()
        return False


class SlowDoor:
    """Keeps its first visitor waiting, and leads the others to a server.

    As a server that has just been started does, now and then.
    """

    def __init__(self, zookeeper: ZooKeeper) -> None:
        self._target = '127.0.0.1', zookeeper.port
        self._open: list[socket.socket] = []
        self._listening = socket.create_server(('127.0.0.1', 0))
        self.address = f'127.0.0.1:{self._listening.getsockname()[1]}'
        threading.Thread(target=self._serve, daemon=True).start()

    def close(self) -> None:
        """Close all connections."""
        for one in (self._listening, *self._open):
            one.close()

    def _serve(self) -> None:
        with contextlib.suppress(OSError):
            self._open.append(self._listening.accept()[0])
            while True:
                visitor = self._listening.accept()[0]
                server = socket.create_connection(self._target)
                self._open += [visitor, server]
                for one, other in ((visitor, server), (server, visitor)):
                    threading.Thread(
                        target=self._pass_on, args=(one, other), daemon=True
                    ).start()

    @staticmethod
    def _pass_on(one: socket.socket, other: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := one.recv(65536):
                other.sendall(data)


def _free_port() -> int:
    # Below the ports of outgoing connections: one of these could take it
    # before the server starts, or while it is down.
    for port in random.sample(_PORTS, len(_PORTS)):
        with contextlib.suppress(OSError), socket.socket() as probe:
            probe.bind(('127.0.0.1', port))
            return port
    raise AssertionError('no port is free')
