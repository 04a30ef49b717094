"""Options of plugins that are given in words, read as those of a file."""

from __future__ import annotations

from ironic_ownership.conf import plugin as plugin_conf
from ironic_ownership.contracts import exceptions, model, options


def read(declared: options.Option, name: str, text: str) -> model.Value:
    """Return the value of an option.

    :param name: by which it was given.
    :raises OwnershipError: if it cannot be read.
    """
    try:
        value = plugin_conf.to_oslo(declared).type(text)
    except ValueError as exc:
        raise exceptions.OwnershipError(
            f'--option {name}={text}: {exc}'
        ) from exc
    result: model.Value = tuple(value) if isinstance(value, list) else value
    return result


def names(declared: options.Option) -> tuple[str, ...]:
    """Return the names by which an option can be given."""
    return declared.name, *declared.aliases
