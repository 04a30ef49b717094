"""The description of one operation: name, parameters, access, handler.

Routes, validation of requests, access rules, the OpenAPI document and the
clients of the command line are all made from it, so they cannot differ.
"""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ironic_ownership.api.request import Answer, Request
from ironic_ownership.observe.columns import Column

Schema = Mapping[str, Any]
"""A JSON Schema, of draft 2020-12, as OpenAPI 3.1 takes it."""


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


@dataclasses.dataclass(frozen=True)
class Parameter:
    """One parameter of the path or of the query.

    :param schema: of its value. A list is given by repeating the parameter.
    :param description: one or more sentences, the first without a subject:
        the help of the command line begins with it, too.
    :param example: a value for the documentation, if a name is not enough.
    :param metavar: the word for a value in the help of the command line.
    """

    name: str
    description: str
    schema: Schema
    example: Any = None
    metavar: str = ''


LIMIT = Parameter(
    'limit',
    'The maximum number of items in a page. The configuration, [api] '
    'max_limit, may set a lower bound, which is also the default.',
    {'type': 'integer', 'minimum': 1, 'maximum': 1_000_000},
)
MARKER = Parameter(
    'marker',
    'Where the previous page ended, as in its "next".',
    {
        'type': 'string',
        'minLength': 1,
        'maxLength': 600,
        'pattern': r'^[^\x00-\x1f\x7f]+$',
    },
)
PAGE = (LIMIT, MARKER)

Handler = Callable[[Request], Answer]


_KINDS = {'compute_node': 'node'}


@dataclasses.dataclass(frozen=True)
class Operation:
    """One method on one path.

    :param name: ``noun:verb``; public, also the name of its access rule.
    :param path: with its parameters in braces, as in OpenAPI.
    :param summary: one line.
    :param answers: description and schema by status, without errors.
    :param errors: statuses beyond those of every operation.
    :param body: schema of the body, if it takes one.
    :param media_type: of a successful answer.
    :param columns: of the things that the answer has; also those of a table.
    :param short: the columns of a table that is not to be long.
    """

    name: str
    method: str
    path: str
    summary: str
    handler: Handler
    access: Access
    answers: Mapping[int, tuple[str, Schema | None]]
    description: str = ''
    parameters: Sequence[Parameter] = ()
    query: Sequence[Parameter] = ()
    body: Schema | None = None
    errors: Sequence[int] = ()
    media_type: str = 'application/json'
    columns: Sequence[Column[Any]] = ()
    short: Sequence[Column[Any]] = ()

    @property
    def noun(self) -> str:
        """The kind of resource, for the order of the documentation."""
        return self.name.partition(':')[0]

    @property
    def kind(self) -> str:
        """The kind of resource in words."""
        return _KINDS.get(self.noun, self.noun)
