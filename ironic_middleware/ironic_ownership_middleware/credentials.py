"""Users whose changing requests need a header.

The middleware stands outside of Ironic's authentication, so it has to find
out by itself who sends a request. With Keystone it validates the token as
Ironic does, and Ironic does so again. With HTTP basic authentication the name
in the request is enough: if the password is wrong, Ironic refuses it.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ironic_ownership.contracts import exceptions
from ironic_ownership_middleware import decision

Environ = Mapping[str, Any]
Caller = frozenset[str]
"""The user and the roles of a request, as ``user:NAME`` and ``role:NAME``."""

Rule = Callable[[Environ], decision.Refusal | None]
"""Returns why a request without a header is refused, if it is."""

EVERY = '*'

_TOKENS = ('HTTP_X_AUTH_TOKEN', 'HTTP_X_STORAGE_TOKEN')
"""The headers in which keystonemiddleware takes a token."""


def requirement(required: Iterable[str], strategy: str, conf: Any) -> Rule:
    """Return the rule for requests without a header.

    :param required: of the option ``require_for``.
    :param strategy: Ironic's ``auth_strategy``.
    :param conf: of Ironic, for the middleware of Keystone.
    :raises ConfigurationError: if the users can't be known.
    """
    # Ironic's rules ignore the case of roles.
    wanted = frozenset(one.lower().replace(': ', ':') for one in required)
    if not wanted:
        return lambda environ: None
    if EVERY in wanted:
        return lambda environ: decision.UNSIGNED
    faults = _faults(wanted, strategy)
    if faults:
        raise exceptions.ConfigurationError(faults)
    caller = _keystone(conf) if strategy == 'keystone' else _basic

    def refusal(environ: Environ) -> decision.Refusal | None:
        found = caller(environ)
        if found is None:
            return decision.UNKNOWN
        needs = wanted & {one.lower() for one in found}
        return decision.UNSIGNED if needs else None

    return refusal


def _faults(wanted: Caller, strategy: str) -> list[str]:
    kinds = {'keystone': ('user', 'role'), 'http_basic': ('user',)}
    known = kinds.get(strategy)
    if known is None:
        fault = (
            '[ownership] require_for: with [DEFAULT] auth_strategy = '
            f'{strategy} Ironic does not know its users; only "*" is possible'
        )
        return [fault]
    return [
        f'[ownership] require_for: {one!r} is not '
        f'{" or ".join(f"{kind}:NAME" for kind in known)}, nor "*"'
        for one in sorted(wanted)
        if not (one.partition(':')[0] in known and one.partition(':')[2])
    ]


def _basic(environ: Environ) -> Caller | None:
    # Divided as by Ironic, which takes any white space.
    words = environ.get('HTTP_AUTHORIZATION', '').strip().split(maxsplit=1)
    if len(words) < 2 or words[0].lower() != 'basic':
        return frozenset()
    try:
        text = base64.b64decode(words[1], validate=True).decode()
    except (binascii.Error, ValueError):
        return None
    return frozenset((f'user:{text.partition(":")[0]}',))


def _keystone(conf: Any) -> Callable[[Environ], Caller | None]:
    from keystonemiddleware import auth_token

    def capture(environ: Environ, start_response: Any) -> list[bytes]:
        start_response('200 OK', [])
        environ['ironic_ownership.environ'].update(environ)
        return []

    protocol = auth_token.AuthProtocol(
        capture,
        # An invalid token is Ironic's to answer.
        {'oslo_config_config': conf, 'delay_auth_decision': True},
    )

    def caller(environ: Environ) -> Caller | None:
        if not any(map(environ.get, _TOKENS)):
            return frozenset()
        seen: dict[str, Any] = {}
        protocol(
            {**environ, 'ironic_ownership.environ': seen}, lambda *_: None
        )
        if seen.get('HTTP_X_IDENTITY_STATUS') != 'Confirmed':
            # Ironic may find it valid a moment later.
            return None
        roles = seen.get('HTTP_X_ROLES', '').split(',')
        return frozenset(
            (
                f'user:{seen.get("HTTP_X_USER_NAME", "")}',
                *(f'role:{role.strip()}' for role in roles),
            )
        )

    return caller
