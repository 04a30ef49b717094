"""JSON Schemas: words of operations, answers of columns, and validation.

All faults of a value are reported together, each with its place. The HTTP
service and the client in the same process refuse the same.
"""

from __future__ import annotations

import collections
import dataclasses
import enum
import functools
import operator
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ironic_ownership.contracts import exceptions
from ironic_ownership.contracts.texts import listed
from ironic_ownership.observe import columns

if TYPE_CHECKING:
    import jsonschema

Schema = Mapping[str, Any]
"""A JSON Schema, of draft 2020-12, as OpenAPI 3.1 takes it."""

TEXT = columns.TEXT
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


def codes(of: Iterable[enum.Enum]) -> dict[str, Any]:
    """Return the schema of a code of an enumeration."""
    return {'type': 'string', 'enum': [code.value for code in of]}


def code(
    key: str, of: Iterable[enum.Enum], path: str = '', text: str = ''
) -> columns.Column[Any]:
    """Return the column of a code of an enumeration.

    :param path: of the attribute, if it has another name than the key.
    :param text: the meaning of the key.
    """
    return columns.Column(key, f'{path or key}.value', codes(of), text)


def _read_if_there(path: str) -> Callable[[Any], Any]:
    names = path.split('.')

    def read(one: Any) -> Any:
        for name in names:
            if one is None:
                return None
            one = getattr(one, name)
        return one

    return read


def maybe(
    key: str, path: str, of: Schema = TEXT_OR_NULL
) -> columns.Column[Any]:
    """Return the column of an attribute of something that may be missing."""
    return columns.Column(key, _read_if_there(path), of)


def nullable(key: str, text: str, path: str = '') -> columns.Column[Any]:
    """Return the column of a text that may be null.

    :param text: the meaning of the key.
    """
    return columns.Column(key, path, TEXT_OR_NULL, text)


def number(key: str, text: str) -> columns.Column[Any]:
    """Return the column of a number of things."""
    return columns.Column(key, type=NUMBER, help=text)


def moment(key: str, path: str = '', text: str = '') -> columns.Column[Any]:
    """Return the column of a time, which may be null."""
    read = _read_if_there(path or key)
    return columns.Column(
        key, lambda one: columns.moment(read(one)), TEXT_OR_NULL, text
    )


def rows(
    key: str, of: Iterable[columns.Column[Any]], text: str = ''
) -> columns.Column[Any]:
    """Return the column of a list of things that have columns, too."""
    read = operator.attrgetter(key)
    return columns.Column(
        key,
        lambda one: [columns.cells(of, item) for item in read(one)],
        array(thing(of)),
        text,
    )


def one_of(*texts: str) -> dict[str, Any]:
    """Return the schema of one of a few texts."""
    return {'type': 'string', 'enum': list(texts)}


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


def thing(
    of: Iterable[columns.Column[Any]] = (), /, **more: Schema
) -> dict[str, Any]:
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
        self, text: str, of: Sequence[columns.Column[Any]], schema: Schema
    ) -> None:
        super().__init__({200: (text, schema)})
        self.columns = of


def answer(
    text: str, of: Sequence[columns.Column[Any]] = (), /, **more: Any
) -> Answers:
    """Return the answers of an operation that has one: these columns."""
    return Answers(text, of, thing(of, **more))


def pages(
    text: str, key: str, of: Sequence[columns.Column[Any]], **more: Any
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

_LONGEST = 80


@functools.cache
def _validator() -> Any:
    # Imported late: only commands with a body pay for the library.
    import jsonschema

    def pattern(
        validator: Any, pattern: str, value: Any, schema: Schema
    ) -> Iterator[jsonschema.ValidationError]:
        # Each pattern is of the whole text. The "$" of JSON Schema is its
        # end, that of Python also matches before a last line feed.
        if isinstance(value, str) and not re.fullmatch(pattern, value):
            meaning = schema.get('description', '')
            yield jsonschema.ValidationError(
                f'{value!r} does not match {pattern} {meaning}'.rstrip(' .')
            )

    return jsonschema.validators.extend(
        jsonschema.Draft202012Validator, {'pattern': pattern}
    )


def check(value: Any, schema: Schema, where: str) -> None:
    """Refuse a value that its schema does not allow.

    :param where: the place of the value, for the error.
    :raises RequestError: listing everything that is wrong.
    """
    refuse(faults(value, schema, where))


def refuse(found: Sequence[str]) -> None:
    """Refuse a request with these faults.

    :raises RequestError: if there are any.
    """
    if found:
        raise exceptions.RequestError(
            list(dict.fromkeys(found)),
            hint='GET /openapi.json describes requests',
        )


def faults(value: Any, schema: Schema, where: str) -> list[str]:
    """Return everything that is wrong with a value."""
    found = sorted(
        _validator()(schema).iter_errors(value), key=lambda e: e.json_path
    )
    return [_sentence(error, where) for error in found]


def _sentence(error: jsonschema.ValidationError, where: str) -> str:
    place = where + error.json_path.removeprefix('$')
    if error.validator in ('oneOf', 'anyOf'):
        text = error.schema.get('description', 'matches no alternative')
        inside = listed([_sentence(one, where) for one in _inside(error)])
        return f'{place}: {text}; {inside}' if inside else f'{place}: {text}'
    text = error.message
    if len(text) > _LONGEST * 3:
        text = f'{text[:_LONGEST]} ... {text[-_LONGEST:]}'
    if error.validator in ('maxItems', 'maxLength'):
        text = f'{text}: at most {error.validator_value}'
    return f'{place}: {text}'


def _inside(
    error: jsonschema.ValidationError,
) -> list[jsonschema.ValidationError]:
    """Return the faults of values, if one alternative is the nearest."""
    found = collections.defaultdict(list)
    for one in error.context:
        found[one.relative_schema_path[0]].append(one)
    near = [some for some in found.values() if all(f.path for f in some)]
    fewest = min(map(len, near), default=0)
    nearest = [some for some in near if len(some) == fewest]
    return nearest[0] if len(nearest) == 1 else []
