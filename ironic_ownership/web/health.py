"""HTTP server of a host process: ``/healthcheck`` and ``/metrics``.

Answers from what the process knows of itself, in threads of its own, also
while every other server is down. Only programs of this machine reach it.
"""

from __future__ import annotations

import contextlib
import ipaddress
import json
import pathlib
import socket
import stat
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from oslo_log import log
from waitress import server, wasyncore

from ironic_ownership import metrics as observed
from ironic_ownership.contracts import exceptions
from ironic_ownership.engine.host.health import Health
from ironic_ownership.web.exposition import MEDIA_TYPE, text_of

LOG = log.getLogger(__name__)

_THREADS = 2
"""A scrape and a probe at the same time."""

_HINT = (
    'Set [health] listen to a loopback address with a port, such as '
    '127.0.0.1:9396, or to the absolute path of a socket file, or unset it'
)

_Answer = tuple[str, str, bytes]


class HealthApplication:
    """WSGI application of one process.

    :param read: returns the health of this moment; any thread.
    """

    def __init__(self, read: Callable[[], Health]) -> None:
        self._read = read

    def __call__(
        self, environ: Mapping[str, Any], start_response: Callable[..., Any]
    ) -> Iterable[bytes]:
        """Answer one request."""
        status, media_type, body = self._answer(environ)
        start_response(
            status,
            [
                ('Content-Type', media_type),
                ('Content-Length', str(len(body))),
                ('Cache-Control', 'no-store'),
            ],
        )
        return [] if environ['REQUEST_METHOD'] == 'HEAD' else [body]

    def _answer(self, environ: Mapping[str, Any]) -> _Answer:
        if environ['REQUEST_METHOD'] not in ('GET', 'HEAD'):
            return '405 Method Not Allowed', 'text/plain', b'GET only\n'
        path = environ['PATH_INFO']
        if path == '/healthcheck':
            return _healthcheck(self._read())
        if path == '/metrics':
            metrics = text_of(observed.of_process(self._read()))
            return '200 OK', MEDIA_TYPE, metrics
        return (
            '404 Not Found',
            'text/plain',
            b'There are /healthcheck and /metrics\n',
        )


def _healthcheck(health: Health) -> _Answer:
    faults = health.faults
    body = json.dumps(
        {
            'service': health.host,
            'role': health.role.value,
            'healthy': not faults,
            'faults': faults,
        }
    )
    status = '503 Service Unavailable' if faults else '200 OK'
    return status, 'application/json', f'{body}\n'.encode()


@contextlib.contextmanager
def serving(listen: str, read: Callable[[], Health]) -> Iterator[None]:
    """Serve while the context lasts.

    :param listen: the option ``[health] listen``.
    :raises ConfigurationError: if nothing can listen there.
    """
    try:
        bound = _bind(listen)
    except (OSError, ValueError, OverflowError) as exc:
        reason = getattr(exc, 'strerror', None) or exc
        raise exceptions.ConfigurationError(
            [f'[health] listen = {listen}: {reason}'], hint=_HINT
        ) from exc
    channels: dict[int, Any] = {}
    served = server.create_server(
        HealthApplication(read),
        map=channels,
        sockets=[bound],
        threads=_THREADS,
        ident=None,
    )
    ends = threading.Event()

    def loop() -> None:
        while not ends.is_set():
            # select() knows no file with a number above 1023.
            wasyncore.loop(timeout=1, use_poll=True, map=channels, count=1)

    thread = threading.Thread(target=loop, name='health', daemon=True)
    thread.start()
    LOG.info('/healthcheck and /metrics are served on %s', listen)
    try:
        yield
    finally:
        # Each of these threads uses the pipe of the trigger: it is closed when
        # none is left, since its number may belong to another file then.
        ends.set()
        served.trigger.pull_trigger()
        thread.join()
        served.task_dispatcher.shutdown()
        wasyncore.close_all(channels, ignore_all=True)
        if listen.startswith('/'):
            pathlib.Path(listen).unlink(missing_ok=True)


def _bind(listen: str) -> socket.socket:
    """Return a socket that is bound.

    :raises OSError: if another process has it, or it is not permitted.
    :raises ValueError: if the text is no place of this machine.
    :raises OverflowError: if no port has that number.
    """
    if listen.startswith('/'):
        return _bind_file(pathlib.Path(listen))
    host, _, port = listen.rpartition(':')
    address = ipaddress.ip_address(host.strip('[]'))
    if not address.is_loopback:
        raise ValueError('it answers without a token, so not to others')
    bound = socket.socket(
        socket.AF_INET6 if address.version == 6 else socket.AF_INET
    )
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    bound.bind((str(address), int(port)))
    return bound


def _bind_file(path: pathlib.Path) -> socket.socket:
    """Bind a socket file; replace one that no process serves any more."""
    if path.exists() and stat.S_ISSOCK(path.stat().st_mode):
        with contextlib.closing(socket.socket(socket.AF_UNIX)) as probe:
            try:
                probe.connect(str(path))
            except ConnectionRefusedError:
                path.unlink()
    bound = socket.socket(socket.AF_UNIX)
    bound.bind(str(path))
    bound.listen()  # now: another process takes it for a dead one otherwise
    return bound
