"""JSON Schemas: words of operations, columns, and answers that have them.

The keys of columns are public interface: scripts and dashboards read them from
JSON. Their cells are plain values that JSON and YAML can hold.
"""

from __future__ import annotations

import dataclasses
import enum
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Generic, TypeVar

from ironic_ownership.contracts import texts

T = TypeVar('T')

Schema = Mapping[str, Any]
"""A JSON Schema, of draft 2020-12, as OpenAPI 3.1 takes it."""

TEXT: Schema = {'type': 'string'}
TEXT_OR_NULL = {'type': ['string', 'null']}
NUMBER = {'type': 'integer', 'minimum': 0}
NUMBER_OR_NULL = {'type': ['integer', 'null']}
FLAG = {'type': 'boolean'}
FLAG_OR_NULL = {'type': ['boolean', 'null']}
TEXTS: dict[str, Any] = {'type': 'array', 'items': TEXT}
THING = {'type': 'object'}
THINGS: dict[str, Any] = {'type': 'array', 'items': THING}
THING_OR_NULL = {'type': ['object', 'null']}

UUID_PATTERN = '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'
UUID = {'type': 'string', 'pattern': UUID_PATTERN}
REQUEST_ID = {'type': 'string', 'pattern': f'^req-{UUID_PATTERN[1:]}'}
_NAME = {'type': 'string', 'minLength': 1, 'maxLength': 255}
HOST = {**_NAME, 'pattern': r'^[^/\x00-\x20\x7f]+$'}
KEY = HOST
"""A text that names one resource in a path: an id or a name."""

NAME = {**_NAME, 'pattern': r'^[^\x00-\x1f\x7f]+$'}
_CONTROL = r'\x00-\x1f\x7f'
_BLANK = (
    r'\x00-\x20\x7f-\xa0\u1680\u180e\u2000-\u200f\u2028-\u202f'
    r'\u205f\u3000\ufeff'
)
WORDS = {**_NAME, 'pattern': f'^[^{_BLANK}][^{_CONTROL}]*$'}
"""A text that is not blank and does not begin with a blank."""

GROUP = {**TEXT, 'maxLength': 255, 'pattern': r'^[^\x00-\x1f\x7f]*$'}


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

    @property
    def help(self) -> str:
        """The description, for the help of the command line."""
        text = self.description
        return f'{text[0].lower()}{text[1:]}'.rstrip('.')


def described(schema: Schema, text: str) -> dict[str, Any]:
    """Return a schema with a description."""
    return {**schema, 'description': text}


OF_MEAN = described(
    {'type': ['number', 'null'], 'minimum': 0},
    'Nodes, divided by the number that the service should have: by the shares '
    'that its assigner declares, or else the mean of the services that it is '
    'compared with; null if none can be expected.',
)


def array(items: Schema, **more: Any) -> dict[str, Any]:
    """Return the schema of a list."""
    return {'type': 'array', 'items': items, **more}


Cell = Any
"""``None``, a string, number or boolean, or lists and dicts of those."""


class Column(Generic[T]):
    """One column of a list.

    :param key: its name in JSON, in snake_case; never changes its meaning.
    :param cell: returns the cell of one item; or the path of the attribute,
        if it has another name than the key. A path is also twice as fast as
        a function of our own, in lists of 100,000 rows.
    :param type: JSON Schema of the cells.
    :param help: what the key means, if that does not follow from its name.
    """

    def __init__(
        self,
        key: str,
        cell: str | Callable[[T], Cell] = '',
        type: Mapping[str, Any] = TEXT,  # noqa: A002 - the word of JSON Schema
        help: str = '',  # noqa: A002
    ) -> None:
        self.key = key
        self.cell: Callable[[T], Cell] = (
            operator.attrgetter(cell or key) if isinstance(cell, str) else cell
        )
        self.type = {**type, 'description': help} if help else type


Columns = tuple[Column[T], ...]


def keys(columns: Iterable[Column[T]]) -> tuple[str, ...]:
    """Return the keys in the order of the columns."""
    return tuple(column.key for column in columns)


def row(columns: Iterable[Column[T]], item: T) -> tuple[Cell, ...]:
    """Return the cells of one item in the order of the columns."""
    return tuple(column.cell(item) for column in columns)


def cells(columns: Iterable[Column[T]], item: T) -> dict[str, Cell]:
    """Return the cells of one item by the keys of the columns."""
    return {column.key: column.cell(item) for column in columns}


def plain(value: Any) -> Cell:
    """Return the value of an option as a cell: a tuple becomes a list."""
    return list(value) if isinstance(value, tuple) else value


def rounded(number: float | None) -> float | None:
    """Return a share with a readable number of digits."""
    return None if number is None else round(number, 4)


def code(
    key: str, of: Iterable[enum.StrEnum], path: str = '', text: str = ''
) -> Column[Any]:
    """Return the column of a code of an enumeration.

    :param path: of the attribute, if it has another name than the key.
    :param text: the meaning of the key.
    """
    return Column(key, f'{path or key}.value', one_of(*of), text)


def _read_if_there(path: str) -> Callable[[Any], Any]:
    names = path.split('.')

    def read(one: Any) -> Any:
        for name in names:
            if one is None:
                return None
            one = getattr(one, name)
        return one

    return read


def maybe(key: str, path: str, of: Schema = TEXT_OR_NULL) -> Column[Any]:
    """Return the column of an attribute of something that may be missing."""
    return Column(key, _read_if_there(path), of)


def nullable(key: str, text: str, path: str = '') -> Column[Any]:
    """Return the column of a text that may be null.

    :param text: the meaning of the key.
    """
    return Column(key, path, TEXT_OR_NULL, text)


def number(key: str, text: str) -> Column[Any]:
    """Return the column of a number of things."""
    return Column(key, type=NUMBER, help=text)


def moment(key: str, path: str = '', text: str = '') -> Column[Any]:
    """Return the column of a time, which may be null."""
    read = _read_if_there(path or key)
    return Column(key, lambda one: texts.moment(read(one)), TEXT_OR_NULL, text)


def rows(key: str, of: Iterable[Column[Any]], text: str = '') -> Column[Any]:
    """Return the column of a list of things that have columns, too."""
    read = operator.attrgetter(key)
    return Column(
        key,
        lambda one: [cells(of, item) for item in read(one)],
        array(thing(of)),
        text,
    )


def one_of(*texts: str) -> dict[str, Any]:
    """Return the schema of one of a few texts, or of a few codes."""
    return {'type': 'string', 'enum': [str(text) for text in texts]}


def body(
    properties: Mapping[str, Any], required: Sequence[str] = (), **more: Any
) -> dict[str, Any]:
    """Return the schema of an object with optional keys, and no others."""
    return {
        'type': 'object',
        **({'required': list(required)} if required else {}),
        'additionalProperties': False,
        'properties': properties,
        **more,
    }


def thing(of: Iterable[Column[Any]] = (), /, **more: Schema) -> dict[str, Any]:
    """Return the schema of an object that these columns show.

    :param more: further keys.
    """
    properties = {column.key: dict(column.type) for column in of} | more
    return body(properties, list(properties))


def page(key: str, item: Schema, **more: Schema) -> dict[str, Any]:
    """Return the schema of a page of a list.

    :param key: under which the items are.
    """
    end = described(
        TEXT_OR_NULL, 'Path and query of the next page; null at the end.'
    )
    properties = {key: array(item), 'next': end, 'warnings': WARNINGS, **more}
    return body(properties, list(properties))


class Answers(dict[int, tuple[str, Schema]]):
    """The answer of an operation that has one, without errors.

    :param of: columns of the things that the answer has.
    """

    def __init__(
        self, text: str, of: Sequence[Column[Any]], schema: Schema
    ) -> None:
        super().__init__({200: (text, schema)})
        self.columns = of


def answer(
    text: str, of: Sequence[Column[Any]] = (), /, **more: Any
) -> Answers:
    """Return the answers of an operation that has one: these columns."""
    return Answers(text, of, thing(of, **more))


def pages(
    text: str, key: str, of: Sequence[Column[Any]], **more: Any
) -> Answers:
    """Return the answers of an operation that lists things by pages."""
    return Answers(text, of, page(key, thing(of), **more))


WARNINGS = described(
    TEXTS, 'Data that could not be read: the answer is incomplete.'
)
CHANGE: Schema = {
    'dry_run': FLAG,
    'request_id': REQUEST_ID,
    'warnings': WARNINGS,
}
"""The keys of every answer to a change."""
DRY_RUN = described(FLAG, 'Only return the proposal, and change nothing.')
DRY_RUN_PARAMETER = Parameter('dry_run', DRY_RUN['description'], FLAG)
"""That of a change without a body."""
REASON = described(WORDS, 'Why; stored in the event.')
OF_DELETION = (
    Parameter('reason', REASON['description'], WORDS, metavar='TEXT'),
    DRY_RUN_PARAMETER,
)
"""Those of a deletion."""


def host(name: str, text: str) -> Parameter:
    """Return a parameter of the query that names a service."""
    return Parameter(name, text, HOST, metavar='HOST')


_OF_PATHS = (
    Parameter(
        'node',
        'Uuid or name of the node, or uuid of the instance on it.',
        KEY,
        example='rack1-node7',
        metavar='UUID|NAME',
    ),
    Parameter('uuid', 'Of the node.', UUID),
    Parameter(
        'host',
        'Host name of the service (case-insensitive).',
        HOST,
        example='rack1',
    ),
    Parameter(
        'request_id',
        'Id of the move, as "move list" shows it.',
        KEY,
        metavar='ID',
    ),
    Parameter(
        'id',
        'Id of the reservation or, while it is open, the uuid of its '
        'instance.',
        KEY,
        metavar='ID|INSTANCE',
    ),
)
IN_PATH = {one.name: one for one in _OF_PATHS}
"""Parameters of paths, by name."""
LIMIT = Parameter(
    'limit',
    'The maximum number of items in a page. The configuration, [api] '
    'max_limit, may set a lower bound, which is also the default.',
    {'type': 'integer', 'minimum': 1, 'maximum': 1_000_000},
)
MARKER = Parameter(
    'marker',
    'Where the previous page ended, as in its "next".',
    {**NAME, 'maxLength': 600},
)
PAGE = (LIMIT, MARKER)
HINT = described(
    TEXT_OR_NULL, 'The action after which the gate passes; null if it does.'
)
NOTES = described(TEXTS, 'Remarks on a complete answer. Mostly empty.')
