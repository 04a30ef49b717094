"""Declarations of a plugin: its options, and the sources that it reads.

The configuration, the generated sample, ``oslo-config-validator`` and the
documentation are made from the options, so a plugin imports no configuration
library.

A source is what a policy decides from besides Ironic, its members and options.
The service that runs the policy reads it in the background, and advertises the
snapshot that it read with the settings of the policy. So all processes decide
from the same snapshot, also those that cannot read the source, and the policy
stays a pure function.
"""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Callable, Mapping

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


Read = Callable[[Mapping[str, model.Value]], model.Value]
"""Returns a snapshot, from a value for each option of the policy."""


@dataclasses.dataclass(frozen=True)
class Source:
    """A file, a table or a request that a policy takes a value from.

    Since contract version 2.

    :param name: of the snapshot among the settings of the policy. There it is
        ``None`` until the source was read; a service joins only after that.
    :param read: called in a thread of the service, never for other members,
        with a value for each option of the policy, secret ones included. It
        may block and may raise anything: the service then goes on with the
        last snapshot, and ``check`` names the source. A text, a number, a
        tuple of texts, or ``None``; equal for equal contents, so sort it.
    :param help: one or more sentences: what it is, and where it is from.
    :param interval: seconds between two reads, at least 1.
    :param timeout: seconds after which a read has failed, at most 60.
    :param per_member: the snapshot is advertised for this service alone, and
        no part of what makes peers: see :attr:`Option.per_member`.
    """

    name: str
    read: Read
    help: str
    interval: float = 60.0
    timeout: float = 10.0
    per_member: bool = False


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
