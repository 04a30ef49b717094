"""One operation: its description, the request it receives, and its answer.

Routes, validation of requests, access rules, the OpenAPI document and the
clients of the command line are all made from it, so they cannot differ.
"""

from __future__ import annotations

import collections
import dataclasses
import enum
import importlib
import inspect
import json
import re
import threading
from collections.abc import (
    Callable,
    Iterable,
    Iterator,
    Mapping,
    MutableMapping,
    Sequence,
)
from typing import TYPE_CHECKING, Any, TypeVar

from ironic_ownership.api import resources
from ironic_ownership.api.schemas import (
    IN_PATH,
    Column,
    Parameter,
    Schema,
    cells,
)
from ironic_ownership.contracts.events import Origin
from ironic_ownership.engine.gates import (
    Progress,
    Stopping,
    never_stopping,
    no_progress,
)

if TYPE_CHECKING:
    from ironic_ownership.api.background import BackgroundWork, Gauges
    from ironic_ownership.wiring import Wiring

T = TypeVar('T')

UNLIMITED = 10**9
"""The page size of a caller in the same process: everything at once."""

_PAGE_NAMES = frozenset(('limit', 'marker'))

Lists = MutableMapping[Any, Any]
"""Full lists, kept for their later pages: a list of all nodes costs the same
for one page and for all of them."""

_lists_lock = threading.Lock()


@dataclasses.dataclass(frozen=True)
class Answer:
    """The result of a handler.

    :param body: is sent as JSON; ``None`` sends nothing.
    :param location: path of the resource that was created.
    :param marker: where a page ends, if more follows. The HTTP service makes
        the link in ``next`` from it.
    """

    body: Any
    status: int = 200
    location: str | None = None
    marker: str | None = None


@dataclasses.dataclass(frozen=True)
class Request:
    """A validated request, without HTTP.

    :param operation: that is called: it declares the answer.
    :param path: parameters of the path.
    :param query: parameters of the query that were sent.
    :param body: the body, if the operation takes one.
    :param actor: the caller, for the records; at most 255 characters.
    :param own_only: whether the caller may only use reservations of its own.
    :param max_limit: largest page.
    :param lists: keeps lists for their later pages.
    :param progress: is called while a long operation runs.
    :param stopping: tells a long operation to stop early.
    :param background: the threads in which a long operation continues, after
        it has answered 202.
    :param gauges: the cached metrics of the HTTP service.
    """

    operation: Operation
    path: Mapping[str, str]
    query: Mapping[str, Any]
    body: Any
    actor: str
    request_id: str
    context: Wiring
    max_limit: int = UNLIMITED
    lists: Lists | None = None
    progress: Progress = no_progress
    stopping: Stopping = never_stopping
    background: BackgroundWork | None = None
    gauges: Gauges | None = None
    own_only: bool = False

    def kept(self, read: Callable[[Request], T]) -> T:
        """Return a list for the requested page, from the cache if possible.

        :param read: reads the list, by the filters in the query; the only one
            whose lists are kept.
        """
        if self.lists is None:
            return read(self)
        filters = {k: v for k, v in self.query.items() if k not in _PAGE_NAMES}
        key = json.dumps(filters, sort_keys=True)
        if 'marker' in self.query:
            with _lists_lock:
                found: T | None = self.lists.get(key)
            if found is not None:
                return found
        fresh = read(self)
        with _lists_lock:
            self.lists[key] = fresh
        return fresh

    def page(
        self,
        things: Iterable[T],
        marker_of: Callable[[T], str],
        warnings: Iterable[str] = (),
        shown: Sequence[Column[T]] | None = None,
    ) -> Answer:
        """Answer with the requested page of a complete list.

        :param things: all of them; shown in the order of their markers, so
            that a walk over the pages neither misses nor repeats a thing
            that exists throughout.
        :param shown: the columns of one thing, if not those that the
            operation declares.
        """
        start = self.query.get('marker')
        rest = [t for t in things if start is None or marker_of(t) > start]
        rest.sort(key=marker_of)
        return self.part(rest[: self.limit + 1], marker_of, warnings, shown)

    def part(
        self,
        rest: Sequence[T],
        marker_of: Callable[[T], str],
        warnings: Iterable[str] = (),
        shown: Sequence[Column[T]] | None = None,
    ) -> Answer:
        """Answer with a page of what was read from the marker on.

        :param rest: one more than the page has, if there are more.
        """
        key = next(iter(self.operation.answers[200][1]['properties']))
        shown = shown or self.operation.columns
        found = rest[: self.limit]
        more = len(rest) > len(found)
        return Answer(
            {
                key: [cells(shown, one) for one in found],
                'next': None,
                'warnings': [' '.join(text.split()) for text in warnings],
            },
            marker=marker_of(found[-1]) if more else None,
        )

    def changed(
        self, body: Mapping[str, Any], warnings: Iterable[str] = ()
    ) -> Answer:
        """Answer with a change that was made, or is only proposed."""
        return Answer(
            {
                **body,
                'dry_run': self.dry_run,
                'request_id': self.request_id,
                'warnings': list(warnings),
            }
        )

    @property
    def origin(self) -> Origin:
        """The caller, its request and its reason, for events."""
        reason = self._options.get('reason')
        return Origin(self.actor, self.request_id, reason)

    @property
    def dry_run(self) -> bool:
        """Tell whether only the proposal is requested."""
        return bool(self._options.get('dry_run'))

    @property
    def skip_invalid(self) -> bool:
        """Tell whether to go on without what gates refuse."""
        return bool(self._options.get('skip_invalid'))

    @property
    def _options(self) -> Mapping[str, Any]:
        return self.body or self.query

    @property
    def limit(self) -> int:
        """The size of the page."""
        requested: int = self.query.get('limit', self.max_limit)
        return min(requested, self.max_limit)


class Access(enum.StrEnum):
    """The default access rule; operators may write rules of their own."""

    PUBLIC = 'public'
    """Any client, without a token."""

    READ = 'reader'
    """Clients that may read the whole deployment."""

    ADMIN = 'admin'
    """Clients that may change the owner of nodes."""

    SERVICE = 'service'
    """Clients that act for a compute service."""

    READ_RESERVATIONS = 'reservation_reader'
    """Clients that may read everything, or act for a compute service."""


READING = (Access.PUBLIC, Access.READ, Access.READ_RESERVATIONS)
"""The access rules of operations that change nothing."""

Handler = Callable[[Request], Answer]

_KINDS = {'compute_node': 'node'}
_ERRORS_OF_CHANGES = (404, 409, 502, 503)
_BRACES = re.compile(r'{(\w+)}')


@dataclasses.dataclass(frozen=True)
class Operation:
    """One method on one path; decorates its handler.

    :param name: ``noun:verb``; public, also the name of its access rule.
    :param route: method and path, whose parameters are in braces: see
        :data:`schemas.IN_PATH`.
    :param answers: the successful ones.
    :param summary: one line, if it is not the first of the docstring.
    :param description: added to that of the docstring.
    :param allowed_to: the clients by default, unless those that may read, for
        a GET, or else those that may change the owner of nodes.
    :param errors: statuses beyond those of every operation, unless none, for a
        GET, or else those of a change.
    :param body: schema of the body, if it takes one.
    :param media_type: of a successful answer.
    :param columns: those of a table, if the answers do not name them.
    :param short: the columns of a table that is not to be long.
    :ivar handler: its docstring is the documentation of the operation.
    :ivar parameters: those of the path.
    """

    name: str
    route: str
    answers: Mapping[int, tuple[str, Schema]]
    allowed_to: Access | None = None
    summary: str = ''
    description: str = ''
    query: Sequence[Parameter] = ()
    body: Schema | None = None
    errors: Sequence[int] = ()
    media_type: str = 'application/json'
    columns: Sequence[Column[Any]] = ()
    short: Sequence[Column[Any]] = ()
    handler: Handler = dataclasses.field(init=False)
    parameters: Sequence[Parameter] = dataclasses.field(init=False)

    def __call__(self, handler: Handler) -> Handler:
        """Declare a function as the handler."""
        # There is no docstring under "python -OO".
        text = inspect.getdoc(handler) or self.name
        summary, _, more = text.partition('\n\n')
        errors = () if self.method == 'GET' else _ERRORS_OF_CHANGES
        found = {
            'handler': handler,
            'parameters': [IN_PATH[one] for one in _BRACES.findall(self.path)],
            'summary': self.summary or summary,
            'description': ' '.join([*more.split(), self.description]).strip(),
            'errors': self.errors or errors,
            'columns': self.columns or getattr(self.answers, 'columns', ()),
        }
        for name, value in found.items():
            object.__setattr__(self, name, value)
        _declared[handler.__module__].append(self)
        return handler

    def answer(self, request: Request) -> Answer:
        """Call the handler.

        :raises ConfigurationError: for a change, if this process has other
            options than all services.
        """
        if self.access not in READING:
            # Not imported where only descriptions are needed.
            from ironic_ownership.conf import configuration
            from ironic_ownership.engine.queries import common_options

            wired = request.context
            common_options.require(
                wired.records,
                lambda: configuration.common_options(wired.conf),
            )
        return self.handler(request)

    @property
    def method(self) -> str:
        """The method of HTTP."""
        return self.route.partition(' ')[0]

    @property
    def path(self) -> str:
        """The path, with its parameters in braces, as in OpenAPI."""
        return self.route.partition(' ')[2]

    @property
    def access(self) -> Access:
        """The default access rule."""
        by_method = Access.READ if self.method == 'GET' else Access.ADMIN
        return self.allowed_to or by_method

    @property
    def noun(self) -> str:
        """The kind of resource, for the order of the documentation."""
        return self.name.partition(':')[0]

    @property
    def kind(self) -> str:
        """The kind of resource in words."""
        return _KINDS.get(self.noun, self.noun)


_declared: dict[str, list[Operation]] = collections.defaultdict(list)
"""The operations of each module, in their order."""


def find_operation(name: str) -> Operation:
    """Return an operation; imports no module after the one that has it.

    :param name: ``noun:verb``.
    :raises KeyError: if there is none.
    """
    for one in _of_noun(name.partition(':')[0]):
        if one.name == name:
            return one
    raise KeyError(name)


def operations() -> list[Operation]:
    """Return all of them, in the order of the documentation."""
    return [one for noun in resources.MODULES for one in _of_noun(noun)]


def _of_noun(noun: str) -> Iterator[Operation]:
    for module in resources.MODULES[noun]:
        for one in operations_of(f'{resources.__name__}.{module}'):
            if one.noun == noun:
                yield one


def operations_of(module: str) -> Sequence[Operation]:
    """Return the operations that a module declares; imports it."""
    importlib.import_module(module)
    return _declared[module]
