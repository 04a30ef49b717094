"""Declarations of the options of a plugin: once, for all readers.

The configuration, the generated sample, ``oslo-config-validator`` and the
documentation are made from these declarations, so a plugin imports no
configuration library.
"""

from __future__ import annotations

import dataclasses
import enum

from ironic_ownership.contracts import model


class OptionType(enum.Enum):
    """The types that an option of a plugin can have."""

    STRING = 'string'
    INTEGER = 'integer'
    FLOAT = 'float'
    BOOLEAN = 'boolean'
    LIST = 'list'
    """Comma-separated strings; the plugin gets a tuple."""


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
