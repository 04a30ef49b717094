"""A request for a reservation, as an operator writes it: options and a file.

Reads only; what is wrong with the request is the contract's to say.
"""

from __future__ import annotations

import argparse
from typing import Any

from ironic_ownership.cli import node_file
from ironic_ownership.contracts import reservation_request

_TEXTS = (
    ('instance', 'instance_uuid', 'UUID', 'the instance that it is for'),
    ('service', 'service', 'HOST', 'the service that is to own the node'),
    ('resource-class', 'resource_class', 'CLASS', 'exactly as in Ironic'),
    ('memory-mb', 'memory_mb', 'MB', 'at least so much memory'),
    ('vcpus', 'vcpus', 'NUMBER', 'at least so many processors'),
    ('root-gb', 'root_gb', 'GB', 'size of the root disk'),
    ('ephemeral-gb', 'ephemeral_gb', 'GB', 'size of further disks'),
    ('swap', 'swap', 'MB', 'size of the swap space'),
    ('node', 'node', 'UUID|NAME', 'this node, or none'),
)
_LISTS = (
    ('trait', 'traits', 'TRAIT', 'the node has to have it'),
    ('forbidden-trait', 'forbidden_traits', 'TRAIT', 'it must not have it'),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options that make up a request."""
    add = parser.add_argument
    add(
        '--request',
        metavar='FILE',
        help='read the request from this file; - is standard input',
    )
    for option, key, metavar, text in _TEXTS:
        add(f'--{option}', dest=key, metavar=metavar, help=text)
    for option, key, metavar, text in _LISTS:
        add(
            f'--{option}',
            dest=key,
            metavar=metavar,
            action='append',
            help=f'{text}; may be repeated',
        )
    add(
        '--extra-spec',
        dest='extra_specs',
        metavar='KEY=VALUE',
        action='append',
        type=_pair,
        help='an extra spec of the flavor; may be repeated',
    )
    add(
        '--image-property',
        dest='image_properties',
        metavar='KEY=VALUE',
        action='append',
        type=_pair,
        help='a property of the image; may be repeated',
    )


def read(args: argparse.Namespace) -> reservation_request.Request:
    """Return the request that the options make up.

    :raises UsageError: if the file cannot be read.
    :raises RequestError: naming all that is wrong with the request.
    """
    data = node_file.read(args.request) if args.request else {}
    if not isinstance(data, dict):
        return reservation_request.Request.from_mapping(data)
    given = vars(args)
    for _, key, _, _ in (*_TEXTS, *_LISTS):
        if given[key] is not None:
            data[key] = given[key]
    if args.extra_specs:
        _add(data, 'extra_specs', dict(args.extra_specs))
    if args.image_properties:
        image = data.setdefault('image', {})
        if isinstance(image, dict):
            _add(image, 'properties', dict(args.image_properties))
    return reservation_request.Request.from_mapping(data)


def _add(data: dict[str, Any], key: str, more: dict[str, str]) -> None:
    before = data.get(key)
    # What is no object is for the contract to refuse.
    if before is None or isinstance(before, dict):
        data[key] = {**(before or {}), **more}


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition('=')
    if not equals or not name:
        raise argparse.ArgumentTypeError(f'{text!r} is not KEY=VALUE')
    return name, value
