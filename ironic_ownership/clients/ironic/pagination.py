"""Page-by-page reads of a list: the whole list or an error.

A list that changes at the place of a page fails as a whole: a part of a list
is never an answer.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ironic_ownership.clients.ironic import errors, nodes
from ironic_ownership.clients.ironic.api import IronicAPI, Params
from ironic_ownership.contracts import exceptions

PAGE_SIZE = 1000
"""Most items on one page of Ironic, by default."""


class ListChangedError(Exception):
    """The list changed while it was read."""


def pages(
    api: IronicAPI,
    collection: str,
    params: Params,
    *,
    key: str = 'uuid',
    page_size: int | None = None,
    request_id: str | None = None,
) -> Iterator[list[Any]]:
    """Yield one page after the other, each requested with all parameters.

    :param collection: such as ``nodes``: the path and the key of the list.
    :param key: field after whose value the next page begins.
    :raises ListChangedError: if the last item of a page was deleted.
    :raises IronicError: if the list cannot be read to its end.
    """
    size = page_size or PAGE_SIZE
    marker: str | None = None
    while True:
        query = [('limit', str(size)), *params]
        if marker is not None:
            query.append(('marker', marker))
        try:
            body = api.get(
                f'/{collection}',
                query,
                about=marker if key == 'uuid' else None,
                request_id=request_id,
            )
        except errors.NotFoundError as exc:
            raise ListChangedError(f'{marker} was deleted') from exc
        page = body.get(collection)
        if not isinstance(page, list):
            raise exceptions.IronicError(
                f'The answer of Ironic is no list of {collection}'
            )
        yield page
        # The server's link is only a sign that there is a next page: it lacks
        # the filters.
        if 'next' not in body and len(page) < size:
            return
        marker = _last(page, key, marker, collection)
        # Before the next one is read: they are large.
        del body, page


def walk(api: IronicAPI, collection: str, params: Params) -> Iterator[Any]:
    """Yield all items of a list, as they are in the JSON of the answers.

    :raises IronicUnavailableError: also if the list changes in between.
    """
    try:
        for page in pages(api, collection, params):
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
