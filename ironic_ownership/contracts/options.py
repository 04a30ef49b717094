"""Declarations of the options of a plugin: once, for all readers.

The configuration, the generated sample, ``oslo-config-validator`` and the
documentation are made from these declarations, so a plugin imports no
configuration library.
"""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Callable

from ironic_ownership.contracts import model


class OptionType(enum.Enum):
    """The types that an option of a plugin can have.

    ``STRING``, ``INTEGER``, ``FLOAT`` and ``BOOLEAN`` give values of these
    types of Python.

    :cvar LIST: comma-separated strings; the plugin gets a tuple.
    :cvar MAP: comma-separated ``name:value`` pairs, in any order; the plugin
        gets a sorted tuple of them, for :func:`as_map`. Since version 2.
    """

    STRING = 'string'
    INTEGER = 'integer'
    FLOAT = 'float'
    BOOLEAN = 'boolean'
    LIST = 'list'

    MAP = 'map'


@dataclasses.dataclass(frozen=True)
class Option:
    """One option of a plugin.

    :param name: its name in the configuration file, with underscores.
    :param type: decides how its text is parsed.
    :param help: one or more sentences: meaning, unit, related options.
    :param default: the value when the operator sets none; ``None`` means
        "unset".
    :param required: refuse to start while the option is unset.
    :param group: the configuration group; empty means the plugin's own,
        ``policy_<name>`` or ``backend_<name>``.
    :param aliases: other accepted names, such as an older one; the log names
        once the one to use.
    :param regex: pattern for the whole text of a string.
    :param minimum: the least number accepted.
    :param maximum: the greatest number, or the greatest length of a string.
    :param secret: never show the value in a log. For backends: a policy's
        settings are advertised, so the host refuses a secret among them.
    :param per_member: for policies: advertised for this service alone, and no
        part of what makes peers, as the weight of a service. The policies
        that decide are built without it. Since version 2.
    :param check: returns what is wrong with a value that the type allows, or
        ``None``; the operator gets it with the line to change. It gets no
        ``None``. Since version 2.
    """

    name: str
    type: OptionType
    help: str
    default: model.Value = None
    required: bool = False
    group: str = ''
    aliases: tuple[str, ...] = ()
    regex: str | None = None
    minimum: float | None = None
    maximum: float | None = None
    secret: bool = False
    per_member: bool = False
    check: Callable[[model.Value], str | None] | None = None


def as_map(value: model.Value) -> dict[str, str]:
    """Return the map of an option of the type :attr:`OptionType.MAP`.

    :param value: as the plugin gets it; ``None`` is an empty map.
    :raises ValueError: if it is none of such an option.
    """
    pairs = () if value is None else value
    if not isinstance(pairs, tuple) or not all(':' in one for one in pairs):
        raise ValueError(f'{value!r} is not a map')
    found = (one.partition(':') for one in pairs)
    return {name.strip(): text.strip() for name, _, text in found}
