"""Requests to Ironic's API, with the version that both sides speak.

A list is read page by page, as a whole: if it changes at the place of a page,
that is an error, and a part of it is never an answer.
"""

from __future__ import annotations

import re
import time
import uuid
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any

from oslo_log import log

from ironic_ownership.clients.ironic import errors, nodes
from ironic_ownership.contracts import bare_metal, exceptions, request_header
from ironic_ownership.contracts.bare_metal import Enforcement

if TYPE_CHECKING:
    import requests
    from keystoneauth1 import adapter as ksa_adapter

LOG = log.getLogger(__name__)

Params = Sequence[tuple[str, str]]
Sign = Callable[[Any], Any]
"""As ``auth`` of the library requests: changes a request before it is sent."""

PAGE_SIZE = 1000
"""Most items on one page of Ironic, by default."""

_DONE = (200, 201, 202, 204)

_CODES = {
    'fenced': Enforcement.ENFORCED,
    'invalid_header': Enforcement.OTHER_KEY,
    'records_unavailable': Enforcement.NO_RECORDS,
}
"""The answers of the middleware that show what Ironic enforces."""

MINIMUM = 82
"""Minor version that is required: it brought shards, after all else that is
used of every Ironic."""

NEWEST_NEEDED = max(bare_metal.NODE_FIELDS.values())
"""Minor version that knows every field and filter that is used here."""


class ListChangedError(exceptions.IronicError):
    """The list changed while it was read."""


class IronicAPI:
    """Requests to one Ironic; nothing is sent before the first.

    :param request_id: "req-" and a uuid, for the server's log.
    """

    _prefix: str | None = None
    _minor = 0

    def __init__(
        self, adapter: ksa_adapter.Adapter, request_id: str | None = None
    ) -> None:
        self._adapter = adapter
        self._request_id = request_id

    def negotiate(self) -> None:
        """Read the versions of the server, and choose one.

        :raises IronicTooOldError: naming both versions.
        """
        self._prefix = None
        answer = self._send('GET', '/', minor=None)
        document = self._json(answer)
        prefix, low, high = _read_versions(document, answer.headers)
        if high < MINIMUM:
            raise exceptions.IronicTooOldError(
                f'Ironic has API version 1.{high} at most; 1.{MINIMUM} is '
                'required',
                hint='Upgrade Ironic to 21.4 (2023.1, Antelope) or later',
            )
        self._minor = max(low, min(high, NEWEST_NEEDED))
        self._prefix = prefix
        LOG.debug(
            'Ironic speaks 1.%s to 1.%s, used is 1.%s', low, high, self._minor
        )

    @property
    def minor(self) -> int:
        self._ready()
        return self._minor

    def get(
        self,
        path: str,
        params: Params = (),
        *,
        about: str | None = None,
        request_id: str | None = None,
    ) -> dict[str, Any]:
        """Send one GET.

        :param path: the part after ``/v1``.
        :param about: uuid of the node that the request names, if any.
        :raises NotFoundError: if Ironic does not have that node.
        :raises IronicUnavailableError: if it may work later.
        :raises IronicError: if it will not.
        """
        answer = self._ask('GET', path, params, request_id=request_id)
        return self._json(answer, about=about)

    def get_dated(
        self, path: str, params: Params = ()
    ) -> tuple[dict[str, Any], float | None]:
        """Send one GET, and return the time of the server as well.

        :returns: the JSON, and a time before the server began to answer, in
            seconds since the epoch by its clock; ``None`` if it sends none.
        :raises IronicError: as :meth:`get`.
        """
        self._ready()
        began = time.monotonic()
        answer = self._ask('GET', path, params)
        date = _date(answer.headers)
        if date is not None:
            # The server may set the date at the end of its answer.
            date -= time.monotonic() - began
        return self._json(answer), date

    def write(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        about: str | None = None,
    ) -> dict[str, Any]:
        """Send one request that writes. It may arrive twice.

        :param path: the part after ``/v1``.
        :param about: uuid of the object that the request names, if any.
        :returns: the JSON of the answer; empty if it has none.
        :raises NotFoundError: if Ironic does not have that object.
        :raises ConflictError: if Ironic answers 409.
        :raises BadRequestError: if Ironic answers 400.
        :raises IronicUnavailableError: if it may work later; it may have
            taken effect all the same.
        :raises IronicError: if it will not.
        """
        answer = self._ask(method, path, body=body)
        if answer.status_code in _DONE and not answer.content:
            return {}
        return self._json(answer, _DONE, about)

    def probe_enforcement(self, shared_key: str) -> Enforcement:
        """Return whether Ironic refuses the request of a former owner.

        It changes a node that does not exist, under an epoch that no service
        has. Ironic alone answers 404, or 403 to a user who may not write.

        :raises IronicError: if Ironic does not answer.
        """
        node = str(uuid.uuid4())
        claim = request_header.Claim(request_header.PROBE + node, 0, node)

        def sign(request: Any) -> Any:
            value = claim.header(shared_key, request.method, request.url)
            request.headers[request_header.HEADER] = value
            return request

        answer = self._ask('PATCH', f'/nodes/{node}', body=[], sign=sign)
        return _CODES.get(errors.code_of(answer) or '', Enforcement.ABSENT)

    def _ask(
        self, method: str, path: str, params: Params = (), **more: Any
    ) -> requests.Response:
        """Send one request below ``/v1``, with the version that is used."""
        path = self._ready() + path
        return self._send(method, path, self._minor, params, **more)

    def _ready(self) -> str:
        if self._prefix is None:
            self.negotiate()
        return self._prefix or ''

    def _send(
        self,
        method: str,
        path: str,
        minor: int | None,
        params: Params = (),
        *,
        body: Any = None,
        request_id: str | None = None,
        sign: Sign | None = None,
    ) -> requests.Response:
        request_id = request_id or self._request_id
        started = time.monotonic()
        answer = errors.IRONIC.send(
            self._adapter,
            method,
            path,
            params=list(params),
            json=body,
            microversion=None if minor is None else f'1.{minor}',
            global_request_id=request_id,
            requests_auth=sign,
        )
        LOG.debug(
            '%s %s %s: %s, %s bytes, %.3f s, %s',
            method,
            path,
            params,
            answer.status_code,
            len(answer.content),
            time.monotonic() - started,
            request_id,
        )
        return answer

    def _json(
        self,
        answer: requests.Response,
        good: Collection[int] = (200,),
        about: str | None = None,
    ) -> dict[str, Any]:
        if answer.status_code not in good:
            # Perhaps Ironic was downgraded: the next request reads its
            # versions.
            if answer.status_code == 406:
                self._prefix = None
            raise errors.status_error(answer, about)
        return errors.IRONIC.json(answer)


def _read_versions(
    document: Mapping[str, Any], headers: Mapping[str, str]
) -> tuple[str, int, int]:
    # The SDK's discovery takes a server that is down for one that is not
    # Ironic. The document is that of the root, or of /v1 itself.
    default = document.get('default_version')
    if document.get('id') == 'v1':
        prefix, entry = '', {}
    elif isinstance(default, dict) and default.get('id') == 'v1':
        prefix, entry = '/v1', default
    else:
        raise exceptions.IronicError(
            'The server at the URL of Ironic is another one',
            hint=errors.IRONIC.endpoint_hint,
        )
    low = _minor(
        headers.get('X-OpenStack-Ironic-API-Minimum-Version')
        or entry.get('min_version')
    )
    high = _minor(
        headers.get('X-OpenStack-Ironic-API-Maximum-Version')
        or entry.get('version')
    )
    if low is None or high is None:
        raise exceptions.IronicError(
            'The server at the URL of Ironic does not list its API versions',
            hint=errors.IRONIC.endpoint_hint,
        )
    return prefix, low, high


def _date(headers: Mapping[str, str]) -> float | None:
    try:
        return parsedate_to_datetime(headers['Date']).timestamp()
    except (KeyError, TypeError, ValueError, OverflowError):
        return None


def _minor(version: object) -> int | None:
    found = re.fullmatch(r'1\.([0-9]{1,9})', str(version))
    return int(found[1]) if found else None


def pages(
    ironic: IronicAPI,
    collection: str,
    params: Params,
    *,
    key: str = 'uuid',
    marker: str | None = None,
    page_size: int = PAGE_SIZE,
    request_id: str | None = None,
) -> Iterator[list[Any]]:
    """Yield one page after the other, each requested with all parameters.

    :param collection: such as ``nodes``: the path and the key of the list.
    :param key: field after whose value the next page begins.
    :param marker: the value after which the first one begins.
    :raises ListChangedError: if the last item of a page was deleted.
    :raises IronicError: if the list cannot be read to its end.
    """
    while True:
        query = [('limit', str(page_size)), *params]
        if marker is not None:
            query.append(('marker', marker))
        try:
            body = ironic.get(
                f'/{collection}',
                query,
                about=marker if key == 'uuid' else None,
                request_id=request_id,
            )
        except errors.NotFoundError as exc:
            raise ListChangedError(f'{marker} was deleted') from exc
        page = body.get(collection)
        if not isinstance(page, list):
            raise errors.unusable(f'a list of {collection}')
        yield page
        # The server's link is only a sign that there is a next page: it lacks
        # the filters.
        if 'next' not in body and len(page) < page_size:
            return
        marker = _last(page, key, marker, collection)
        # Before the next one is read: they are large.
        del body, page


def walk(ironic: IronicAPI, collection: str, params: Params) -> Iterator[Any]:
    """Yield all items of a list, as they are in the JSON of the answers.

    :raises IronicUnavailableError: also if the list changes in between.
    """
    try:
        for page in pages(ironic, collection, params):
            yield from page
    except ListChangedError as exc:
        raise exceptions.IronicUnavailableError(
            f'The list of {collection} changed while it was read'
        ) from exc


def _last(
    page: Sequence[Any], key: str, before: str | None, collection: str
) -> str:
    for data in reversed(page):
        last = data.get(key) if isinstance(data, dict) else None
        if key == 'uuid' and not nodes.is_uuid(last):
            continue
        if isinstance(last, str) and last != before:
            return last
    raise exceptions.IronicError(
        f'A page of {collection} has no {key} after which the next one could '
        'begin'
    )
