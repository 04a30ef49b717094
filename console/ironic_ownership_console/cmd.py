"""``ironic-ownership-console``: serves the pages."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Sequence

from ironic_ownership_console import app
from ironic_ownership_console.service import Service

_PORT = 6390
_PORTS = 65535


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog='ironic-ownership-console',
        description='Web pages over the HTTP service of ironic-ownership.',
    )
    parser.add_argument(
        '--endpoint',
        type=_url,
        required=True,
        help='URL of ironic-ownership-api',
    )
    parser.add_argument(
        '--auth-url',
        type=_url,
        help='URL of Keystone, for the sign-in; without it the console '
        'listens on a loopback address only',
    )
    parser.add_argument(
        '--listen', default='127.0.0.1', help='address (default: 127.0.0.1)'
    )
    parser.add_argument('--port', type=_port, default=_PORT, help='TCP port')
    parser.add_argument(
        '--session-lifetime',
        type=_lifetime,
        default=3600.0,
        metavar='SECONDS',
        help='the longest session (default: 3600)',
    )
    return parser


def _url(text: str) -> str:
    if not text.startswith(('http://', 'https://')):
        raise argparse.ArgumentTypeError(
            f'{text!r} is not a URL: write http:// or https:// before it'
        )
    return text


def _port(text: str) -> int:
    if not text.isdecimal() or int(text) > _PORTS:
        raise argparse.ArgumentTypeError(f'{text!r} is not in 0 to {_PORTS}')
    return int(text)


def _lifetime(text: str) -> float:
    seconds = float(text)
    # A session of nan seconds would never end.
    if not 0 < seconds < math.inf:
        raise argparse.ArgumentTypeError(f'{text!r} is not a time in seconds')
    return seconds


def main(argv: Sequence[str] | None = None) -> int:
    """Serve until it is interrupted."""
    import waitress

    args = _parser().parse_args(argv)
    if not args.auth_url and not app.is_loopback(args.listen):
        print(
            'ironic-ownership-console: without --auth-url any client could '
            'move nodes: listen on a loopback address, or add --auth-url',
            file=sys.stderr,
        )
        return 2
    built = app.build(
        Service(args.endpoint),
        auth_url=args.auth_url or '',
        lifetime=args.session_lifetime,
    )
    try:
        server = waitress.create_server(
            built, host=args.listen, port=args.port, ident=None, threads=16
        )
    except (OSError, ValueError) as exc:
        print(
            f'ironic-ownership-console: cannot listen on {args.listen}, port '
            f'{args.port}: {exc}',
            file=sys.stderr,
        )
        return 1
    host = f'[{args.listen}]' if ':' in args.listen else args.listen
    print(
        f'The console is at http://{host}:{server.effective_port}/',
        flush=True,
    )
    server.run()
    return 0
