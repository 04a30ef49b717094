"""Signed changes that a service sends to Ironic, even if its guard refuses.

Each is signed under an epoch that the process has or had, mostly for a node
that it was permitted to act on, and is sent later: a process may be frozen and
fenced in between, and its nodes may have moved.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import random
import threading
import time
from collections.abc import Callable, Sequence
from typing import TypeVar

from benchmarks.nemesis import clock
from ironic_ownership.contracts import exceptions
from ironic_ownership.contracts.request_header import HEADER, Claim
from ironic_ownership.engine.host.process import Host

T = TypeVar('T')

_THREADS = 2
_TIMEOUT = 120.0
_REFUSALS = frozenset({403, 409, 503})
_KEPT = 4
"""Epochs, and nodes, that a thread knows."""


class Ironic:
    """Ironic as one process reaches it.

    :param port: of its path to Ironic.
    :param key: for signatures.
    """

    def __init__(self, port: int, key: str) -> None:
        self._port, self._key = port, key

    def sign(self, claim: Claim) -> str:
        """Return the header for a change of the node of a claim."""
        return claim.header(self._key, 'PATCH', _path(claim))

    def change(self, claim: Claim, header: str) -> str:
        """Send a change.

        :returns: ``admitted``, or the code of the middleware's refusal.
        :raises OSError: or an error of ``http.client``, without an answer.
        """
        connection = http.client.HTTPConnection(
            '127.0.0.1', self._port, timeout=_TIMEOUT
        )
        change = {'op': 'add', 'path': '/extra/by', 'value': claim.service}
        headers = {
            'Content-Type': 'application/json',
            'X-OpenStack-Ironic-API-Version': '1.82',
            HEADER: header,
        }
        with contextlib.closing(connection):
            connection.request(
                'PATCH', _path(claim), json.dumps([change]), headers
            )
            answer = connection.getresponse()
            text = answer.read().decode()
        return _refusal(answer.status, text) or 'admitted'


class Sender:
    """Sends changes until the process ends, in threads of its own.

    :param permitted: returns the nodes that the guard has permitted lately.
    :param interval: mean seconds between two requests of one thread.
    :param write: receives a line for each answer.
    """

    def __init__(
        self,
        host: Host,
        ironic: Ironic,
        permitted: Callable[[], Sequence[str]],
        interval: float,
        write: Callable[[str], None],
    ) -> None:
        self._context, self._ironic = host.member.context, ironic
        self._permitted, self._interval = permitted, interval
        self._write = write

    def start(self) -> None:
        """Begin to send."""
        for number in range(_THREADS):
            threading.Thread(
                target=self._run, name=f'sender{number}', daemon=True
            ).start()

    def _run(self) -> None:
        epochs: list[int] = []
        nodes: list[str] = []
        while True:
            with contextlib.suppress(exceptions.FencedError):
                _remember(epochs, self._context.fence.epoch())
            for node in self._permitted():
                _remember(nodes, node)
            claim = self._claim(epochs, nodes)
            header = claim and self._ironic.sign(claim)
            time.sleep(random.uniform(0, 2 * self._interval))
            if claim and header:
                self._send(claim, header)

    def _claim(
        self, epochs: Sequence[int], nodes: Sequence[str]
    ) -> Claim | None:
        """Choose a right: half of them are the last that is known."""
        if not epochs or not nodes:
            return None
        epoch = epochs[-1]
        if random.random() < 0.5:
            epoch = random.choice([*epochs, epochs[0] - 1])
        return Claim(self._context.host, epoch, random.choice(nodes))

    def _send(self, claim: Claim, header: str) -> None:
        sent = clock.now()
        try:
            outcome = self._ironic.change(claim, header)
        except (OSError, http.client.HTTPException):
            self._write('count request-without-answer 1')
            return
        self._write(
            f'request {sent:.4f} {clock.now():.4f} {claim.epoch} '
            f'{claim.node} {outcome}'
        )


def _path(claim: Claim) -> str:
    return f'/v1/nodes/{claim.node}'


def _refusal(status: int, text: str) -> str | None:
    """Return the code of a refusal by the middleware, not by Ironic."""
    if status not in _REFUSALS:
        return None
    with contextlib.suppress(ValueError, KeyError, TypeError):
        return str(json.loads(json.loads(text)['error_message'])['code'])
    return None


def _remember(known: list[T], one: T) -> None:
    if one not in known:
        known.append(one)
        del known[:-_KEPT]
