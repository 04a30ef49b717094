"""Walk over the pages of a list of things that have a uuid.

A walk that meets a page whose place is gone fails as a whole: part of a list
is never an answer.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ironic_ownership.clients.ironic.api import (
    IronicAPI,
    NotFoundFault,
    Params,
)
from ironic_ownership.contracts import exceptions

PAGE_SIZE = 1000
"""What Ironic, as it is shipped, puts on one page at most."""


def walk(
    api: IronicAPI,
    collection: str,
    params: Params,
    *,
    request_id: str | None = None,
) -> Iterator[Any]:
    """Give all items of a list, as they are in the JSON of the answers.

    :param collection: such as ``nodes``: the path and the key of the list.
    :param params: with the fields, ``uuid`` among them, and all filters.
    :raises IronicUnavailableError: also if the list does not hold still.
    """
    marker: str | None = None
    while True:
        place = [] if marker is None else [('marker', marker)]
        try:
            body = api.get(
                f'/{collection}',
                [('limit', str(PAGE_SIZE)), *params, *place],
                about=marker,
                request_id=request_id,
            )
        except NotFoundFault as exc:
            raise exceptions.IronicUnavailableError(
                f'The list of {collection} changed while it was read'
            ) from exc
        page = body.get(collection)
        if not isinstance(page, list):
            raise exceptions.IronicError(
                f'Ironic answered with something else than {collection}'
            )
        yield from page
        if 'next' not in body or not page:
            return
        marker = _last_uuid(page, marker, collection)


def _last_uuid(
    page: Sequence[Any], before: str | None, collection: str
) -> str:
    last = page[-1].get('uuid') if isinstance(page[-1], dict) else None
    if not isinstance(last, str) or last == before:
        raise exceptions.IronicError(
            f'A page of {collection} has no uuid after which the next one '
            'could begin'
        )
    return last
