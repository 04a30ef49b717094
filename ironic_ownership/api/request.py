"""One request, as its handler sees it: checked, and without HTTP."""

from __future__ import annotations

import dataclasses
import json
import urllib.parse
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from ironic_ownership.api import operation
from ironic_ownership.api.context import RequestContext
from ironic_ownership.api.page_cache import PageCache

T = TypeVar('T')

LIMIT = operation.Parameter(
    'limit',
    'How many items a page has at most. The configuration, [api] max_limit, '
    'may set a lower bound, which is also what counts without it.',
    {'type': 'integer', 'minimum': 1, 'maximum': 1_000_000},
)
MARKER = operation.Parameter(
    'marker',
    'Where the page before this one ended, as its "next" says it.',
    {
        'type': 'string',
        'minLength': 1,
        'maxLength': 600,
        'pattern': r'^[^\x00-\x1f\x7f]+$',
    },
)
PAGE = (LIMIT, MARKER)
_WHERE = frozenset(one.name for one in PAGE)


@dataclasses.dataclass(frozen=True)
class Asked:
    """A request that its operation takes.

    :param path: parameters of the path.
    :param query: those of the query that were sent.
    :param body: what was sent, if the operation takes anything.
    :param actor: who asks, for the records; at most 255 characters.
    :param max_limit: largest page.
    :param route: path of the request, for links.
    """

    path: Mapping[str, str]
    query: Mapping[str, Any]
    body: Any
    actor: str
    request_id: str
    context: RequestContext
    max_limit: int = 1000
    route: str = '/'
    keeping: PageCache | None = None

    def kept(self, what: str, read: Callable[[Asked], T]) -> T:
        """Return a list for the page that was asked for.

        :param what: what it is a list of.
        :param read: reads it; its query says which.
        """
        which = {k: v for k, v in self.query.items() if k not in _WHERE}
        key = what, json.dumps(which, sort_keys=True)
        if self.keeping is not None and 'marker' in self.query:
            found: T | None = self.keeping.get(key)
            if found is not None:
                return found
        fresh = read(self)
        if self.keeping is not None:
            self.keeping.put(key, fresh)
        return fresh

    def page(
        self,
        key: str,
        things: Iterable[T],
        marker_of: Callable[[T], str],
        cell: Callable[[T], Any],
        warnings: Iterable[str] = (),
    ) -> operation.Answer:
        """Answer with the page that was asked for.

        :param things: all of them; shown in the order of their markers, so
            that a walk over the pages misses and repeats nothing that stays,
            whatever comes and goes meanwhile.
        :param cell: shows one thing; asked for those of the page only.
        """
        marked = sorted(((marker_of(t), t) for t in things), key=_marker)
        start = self.query.get('marker')
        if start is not None:
            marked = [(m, t) for m, t in marked if m > start]
        rest = [one for _, one in marked[: self.limit + 1]]
        return self.part(key, rest, marker_of, cell, warnings)

    def part(
        self,
        key: str,
        rest: Sequence[T],
        marker_of: Callable[[T], str],
        cell: Callable[[T], Any],
        warnings: Iterable[str] = (),
    ) -> operation.Answer:
        """Answer with a page of what was read from the marker on.

        :param rest: one more than the page has, if there are more.
        """
        shown = rest[: self.limit]
        more = len(rest) > len(shown)
        return operation.Answer(
            {
                key: [cell(one) for one in shown],
                'next': self._next(marker_of(shown[-1])) if more else None,
                'warnings': [' '.join(text.split()) for text in warnings],
            }
        )

    @property
    def limit(self) -> int:
        """How many items the page may have."""
        asked: int = self.query.get('limit', self.max_limit)
        return min(asked, self.max_limit)

    def _next(self, marker: str) -> str:
        values = {**self.query, 'marker': marker}
        pairs = [
            (name, _text(value))
            for name, given in values.items()
            for value in (given if isinstance(given, list) else [given])
        ]
        return f'{self.route}?{urllib.parse.urlencode(pairs)}'


def _marker(marked: tuple[str, Any]) -> str:
    return marked[0]


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
