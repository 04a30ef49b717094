"""Sign-in: a scoped token from Keystone."""

from __future__ import annotations

import dataclasses
from typing import Any

from keystoneauth1 import exceptions, session
from keystoneauth1.identity import v3


class SignInError(Exception):
    """Keystone gave no token; the text is for the person at the form."""


@dataclasses.dataclass(frozen=True)
class SignedIn:
    """A person with a token.

    :param lifetime: of the token, in seconds.
    """

    user: str
    token: str
    lifetime: float


def sign_in(
    auth_url: str,
    *,
    user: str,
    password: str,
    project: str,
    user_domain: str = 'Default',
    project_domain: str = 'Default',
) -> SignedIn:
    """Return a token for a project; for all of the system without one.

    :raises SignInError: if Keystone refuses it, or does not answer.
    """
    scope: dict[str, Any] = {'system_scope': 'all'}
    if project:
        scope = {
            'project_name': project,
            'project_domain_name': project_domain,
        }
    auth = v3.Password(
        auth_url,
        username=user,
        password=password,
        user_domain_name=user_domain,
        **scope,
    )
    try:
        found = auth.get_access(session.Session(timeout=30))
    except exceptions.Unauthorized as exc:
        raise SignInError(
            'User, password, project or domain is wrong.'
        ) from exc
    except exceptions.ClientException as exc:
        raise SignInError('Keystone does not answer as expected.') from exc
    if not (found.auth_token and found.expires and found.issued):
        raise SignInError('Keystone gave no token.')
    # Both by the clock of Keystone: that of this machine may be wrong.
    lifetime = (found.expires - found.issued).total_seconds()
    return SignedIn(user, found.auth_token, lifetime)
