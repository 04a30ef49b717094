"""One operation of the HTTP service, described once.

Routes, checks of what a client sends, rules of access and the OpenAPI
document are all made from these descriptions, so they cannot differ.
"""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ironic_ownership.api.request import Asked

Schema = Mapping[str, Any]
"""A JSON Schema, of draft 2020-12, as OpenAPI 3.1 takes it."""


class Access(enum.StrEnum):
    """Who may do it by default; an operator may write rules of their own."""

    PUBLIC = 'public'
    """Anybody, without a token."""

    READ = 'reader'
    """Who may look at the whole deployment."""

    ADMIN = 'admin'
    """Who may change the owner of nodes."""

    SERVICE = 'service'
    """Who acts for a compute service."""

    READ_RESERVATIONS = 'reservation_reader'
    """Who looks at everything, or acts for a compute service."""


@dataclasses.dataclass(frozen=True)
class Parameter:
    """One parameter of the path or of the query.

    :param schema: of its value. A list is given by repeating the parameter.
    :param example: a value for the documentation, if a name is not enough.
    """

    name: str
    description: str
    schema: Schema
    example: Any = None


@dataclasses.dataclass(frozen=True)
class Answer:
    """What a handler returns.

    :param body: is sent as JSON; ``None`` sends nothing.
    :param location: path of what was created.
    """

    body: Any
    status: int = 200
    location: str | None = None


Handler = Callable[['Asked'], Answer]


@dataclasses.dataclass(frozen=True)
class Operation:
    """One method on one path.

    :param name: ``noun:verb``; public, as rules of access are called so.
    :param path: with its parameters in braces, as OpenAPI has it.
    :param summary: one line.
    :param answers: description and schema by status, for what is no error.
    :param errors: statuses besides those that any operation may answer.
    :param body: schema of what has to be sent, if anything.
    :param media_type: of a successful answer.
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

    @property
    def noun(self) -> str:
        """What it is about, for the order of the documentation."""
        return self.name.partition(':')[0]
