"""``ironic-ownership-api``: the HTTP service, on a WSGI server of its own.

waitress serves it; there is no development server. Another WSGI server can
serve the application without this program.
"""

from __future__ import annotations

import signal
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ironic_ownership import program
from ironic_ownership.contracts import exceptions, extras

if TYPE_CHECKING:
    from oslo_config import cfg

PROG = 'ironic-ownership-api'

_CONNECTIONS = 800
"""At the same time; a process may have 1024 open files by default."""


def main(argv: Sequence[str] | None = None) -> int:
    """Serve until SIGTERM.

    :param argv: arguments; those of the process by default.
    :returns: 0 after a clean stop, 1 if it can't start. Wrong usage exits
        with 2.
    """
    files = _parse(argv)
    from oslo_config import cfg

    try:
        _serve(files)
    except (exceptions.OwnershipError, cfg.Error, OSError) as exc:
        program.report(PROG, exc)
        return 1
    return 0


def _parse(argv: Sequence[str] | None) -> list[str]:
    parser = program.parser(
        PROG,
        description='Serve compute nodes, services, members, moves, '
        'reservations and their problems over HTTP, until SIGTERM. The group '
        '[api] of the configuration sets its address, and how clients '
        'authenticate.',
        epilog='Without options, ironic-ownership.conf is looked for in the '
        'usual places, such as /etc/ironic-ownership. Any other WSGI server '
        'can serve ironic_ownership.web.wsgi:application instead.',
    )
    return program.chosen(parser.parse_args(argv))


def _serve(files: Sequence[str]) -> None:
    """Build the application, and serve it.

    :raises ConfigurationError: also if a library is not installed.
    """
    try:
        from ironic_ownership.web import deploy
    except ModuleNotFoundError as exc:
        raise exceptions.ConfigurationError(
            [f'the HTTP service needs {exc.name}, which is not installed'],
            hint=extras.hint('api'),
        ) from exc
    conf = deploy.configure(files)
    check_address(conf)
    application = deploy.build(conf)
    import waitress
    from oslo_log import log

    limit = conf.oslo_middleware.max_request_body_size
    try:
        server = waitress.create_server(
            application,
            host=conf.api.host_ip,
            port=conf.api.port,
            threads=conf.api.threads,
            ident=None,
            # Slow clients keep connections; a proxy bounds number and time.
            connection_limit=_CONNECTIONS,
            asyncore_use_poll=True,
            # A layer of ours reads them, or refuses requests because of them.
            clear_untrusted_proxy_headers=False,
            # Our own layer has the limit, and answers in the form of errors.
            max_request_body_size=2 * limit,
        )
    except (OSError, ValueError) as exc:
        raise OSError(
            f'[api] host_ip = {conf.api.host_ip}, port = {conf.api.port}: '
            f'{exc}'
        ) from exc
    log.getLogger(__name__).info(
        'serving on %s, port %s', conf.api.host_ip, conf.api.port
    )
    signal.signal(signal.SIGTERM, _stop)
    signal.signal(signal.SIGINT, _stop)
    # Returns when the handler raises, after the requests under way.
    server.run()


def _stop(number: int, frame: object) -> None:
    raise SystemExit(0)


def check_address(conf: cfg.ConfigOpts) -> None:
    """Refuse an address of other machines without authentication.

    :param conf: with the group ``api``.
    :raises ConfigurationError: for such an address.
    """
    from ironic_ownership.conf import api
    from ironic_ownership.web.flask_app import is_local

    host = conf.api.host_ip
    # An empty address is that of all interfaces.
    if conf.api.auth_strategy != api.NOAUTH or (host and is_local(host)):
        return
    fault = (
        f'[api] host_ip = {host} is open to other machines, and with '
        'auth_strategy = noauth clients are not authenticated'
    )
    raise exceptions.ConfigurationError(
        [fault],
        hint='Set [api] auth_strategy = keystone, or host_ip = 127.0.0.1',
    )
