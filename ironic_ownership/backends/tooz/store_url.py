"""The URL of a coordination store: parsed, checked, shown without secrets."""

from __future__ import annotations

import dataclasses
import functools
import urllib.parse

from ironic_ownership.contracts import exceptions

_SECRET = 'password'  # noqa: S105 - a part of the names of secret options
_MASK = '***'


@dataclasses.dataclass(frozen=True)
class StoreURL:
    """The URL of a store; ``repr`` and ``str`` do not show credentials."""

    url: str = dataclasses.field(repr=False)

    def __str__(self) -> str:
        return self.masked(self.url)

    @functools.cached_property
    def parts(self) -> urllib.parse.SplitResult:
        try:
            parts = urllib.parse.urlsplit(self.url)
            # A list of servers has several ports, which cannot be parsed.
            if ',' not in parts.netloc:
                parts.port  # noqa: B018 - raises if it is no port
        except ValueError:
            # Without its cause, which may quote a password.
            raise _fault('is not a URL') from None
        if not parts.scheme:
            raise _fault('has no scheme such as etcd3+http://')
        return parts

    @property
    def scheme(self) -> str:
        return self.parts.scheme

    @property
    def servers(self) -> tuple[str, ...]:
        """The servers as ``host:port``, without credentials."""
        netloc = self.parts.netloc.rpartition('@')[2]
        return tuple(filter(None, netloc.split(',')))

    @property
    def has_credentials(self) -> bool:
        return '@' in self.parts.netloc

    @property
    def credentials(self) -> tuple[str, str] | None:
        """User and password, decoded."""
        if not self.has_credentials:
            return None
        user, _, password = self.parts.netloc.rpartition('@')[0].partition(':')
        return urllib.parse.unquote(user), urllib.parse.unquote(password)

    @functools.cached_property
    def query(self) -> dict[str, str]:
        """The options after the question mark; the last of a name."""
        return dict(
            urllib.parse.parse_qsl(self.parts.query, keep_blank_values=True)
        )

    def at(self, server: str) -> str:
        """Return the URL of one of :attr:`servers`, with everything else."""
        credentials, at, _ = self.parts.netloc.rpartition('@')
        return self.parts._replace(
            netloc=f'{credentials}{at}{server}'
        ).geturl()

    def masked(self, text: str) -> str:
        """Return a text without the secrets of this URL."""
        for secret in sorted(self._secrets, key=len, reverse=True):
            text = text.replace(secret, _MASK)
        return text

    @functools.cached_property
    def _secrets(self) -> frozenset[str]:
        try:
            parts, query = self.parts, self.query
        except exceptions.ConfigurationError:
            return frozenset({self.url})
        credentials = parts.netloc.rpartition('@')[0]
        found = {credentials.partition(':')[2]}
        found |= {value for name, value in query.items() if _SECRET in name}
        # As written, and decoded.
        found |= {urllib.parse.unquote(secret) for secret in found}
        found |= {urllib.parse.quote(secret, safe='') for secret in found}
        return frozenset(filter(None, found))


def _fault(what: str) -> exceptions.ConfigurationError:
    return exceptions.ConfigurationError(
        [f'[backend_tooz] backend_url {what}']
    )
