"""Header of a request to Ironic: the service that sends it, and its epoch.

The middleware in Ironic reads the records only for a header with a signature
by the shared key, which no other client can make. The signature covers the
method and the path, so it is of no use for another request.
"""

from __future__ import annotations

import dataclasses
import hmac
import time as clocks
import urllib.parse
from collections.abc import Iterable

HEADER = 'X-Ironic-Ownership'

SHORTEST_KEY = 32
"""Characters of a key, at least."""

PROBE = 'probe-'
"""Begin of the name of a service that does not exist: its requests, under the
epoch 0, show whether ownership is enforced."""

READS = frozenset(('GET', 'HEAD', 'OPTIONS', 'TRACE'))
"""Methods of requests that change nothing and need no header."""

_VERSION = '1'
_LONGEST = 2000
_FIELDS = ('version', 'service', 'epoch', 'time', 'node', 'signature')


@dataclasses.dataclass(frozen=True)
class Claim:
    """The right under which a request is sent.

    :param service: canonical name of the service.
    :param epoch: the epoch under which it acts.
    :param node: uuid of the node on which it acts; empty if there is none.
    :param time: of the request, in seconds since 1970.
    """

    service: str
    epoch: int
    node: str = ''
    time: int = dataclasses.field(default_factory=lambda: int(clocks.time()))

    def header(self, key: str, method: str, url: str) -> str:
        """Return the value of the header for one request."""
        path = urllib.parse.unquote(urllib.parse.urlsplit(url).path)
        fields = self._fields()
        fields['signature'] = self._signature(key, method, path)
        return urllib.parse.urlencode(fields)

    def is_signed(
        self, signature: str, keys: Iterable[str], method: str, path: str
    ) -> bool:
        """Tell whether one of the keys made the signature for a request.

        :param path: without encoded characters.
        """
        found = [
            hmac.compare_digest(self._signature(key, method, path), signature)
            for key in keys
        ]
        return any(found)

    def _fields(self) -> dict[str, str]:
        values = (self.service, str(self.epoch), str(self.time), self.node)
        return dict(zip(_FIELDS, (_VERSION, *values), strict=False))

    def _signature(self, key: str, method: str, path: str) -> str:
        parts = [*self._fields().values(), method, _below_v1(path)]
        text = '\n'.join(urllib.parse.quote(part) for part in parts)
        return hmac.digest(key.encode(), text.encode(), 'sha256').hex()


def read(value: str) -> tuple[Claim, str] | None:
    """Return the claim of a header and its signature, not yet compared.

    :returns: ``None`` if it is not such a header.
    """
    if len(value) > _LONGEST or not value.isascii():
        return None
    try:
        pairs = urllib.parse.parse_qsl(
            value, keep_blank_values=True, strict_parsing=True, errors='strict'
        )
        if tuple(name for name, _ in pairs) != _FIELDS:
            return None
        version, service, epoch, time, node, signature = (v for _, v in pairs)
        claim = Claim(service, int(epoch), node, int(time))
    except ValueError:
        return None
    if version != _VERSION or not signature.isascii():
        return None
    return claim, signature


def _below_v1(path: str) -> str:
    """Return a path as both sides know it.

    A proxy may add or remove what precedes ``v1``. Ironic itself finds the
    same resource without ``v1``, and with empty parts.
    """
    parts = [part for part in path.split('/') if part]
    start = parts.index('v1') + 1 if 'v1' in parts else 0
    return '/'.join(parts[start:])
