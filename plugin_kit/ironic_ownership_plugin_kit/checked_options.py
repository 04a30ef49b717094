"""Options of a plugin on the command line of ``plugin check``."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence

from ironic_ownership import plugins
from ironic_ownership.api import policy_options
from ironic_ownership.api.policy_options import Given
from ironic_ownership.cli import errors
from ironic_ownership.contracts import exceptions, model, options


def option(words: str) -> Given:
    """Read ``[PLUGIN.]NAME=VALUE``.

    :raises ArgumentTypeError: if it is something else.
    """
    plugin, name, text = policy_options.split(words)
    if not name:
        raise argparse.ArgumentTypeError(
            f'{words!r} is not [PLUGIN.]NAME=VALUE'
        )
    return Given('', plugin, name, text)


def check(
    given: Sequence[Given],
    chosen: Sequence[plugins.Plugin],
    *,
    per_member: bool = False,
) -> None:
    """Refuse options that no plugin has.

    :param per_member: whether they have to be advertised by each service for
        itself.
    :raises UsageError: naming what is near.
    """
    for one in given:
        names = {
            name
            for plugin in chosen
            if plugin.target is not None and one.policy in ('', plugin.name)
            for declared in plugin.target.options
            if declared.per_member or not per_member
            for name in policy_options.names(declared)
        }
        loaded = all(plugin.target is not None for plugin in chosen)
        if loaded and one.name not in names:
            kind = 'option of a member' if per_member else 'option'
            raise errors.UsageError(
                f'no plugin that is checked has the {kind} {one.name!r}',
                hint=errors.nearest(one.name, names),
            )


def settings(
    plugin: plugins.Plugin, given: Sequence[Given]
) -> dict[str, model.Value]:
    """Read the options of one plugin.

    :raises OwnershipError: if one is missing, or cannot be read.
    """
    assert plugin.target is not None
    found: dict[str, model.Value] = {}
    missing = []
    for declared in plugin.target.options:
        for value in _values(plugin, declared, given):
            found[declared.name] = value
        if declared.name not in found and _has_to_be_given(declared):
            missing.append(declared)
    if missing:
        raise exceptions.OwnershipError(
            f'{plugin.name} needs '
            + ', '.join(f'{o.name} ({o.type.value})' for o in missing),
            hint='Give '
            + ' '.join(
                f'--option {plugin.name}.{o.name}=VALUE' for o in missing
            ),
        )
    return found


def peer_values(
    plugin: plugins.Plugin, given: Sequence[Given]
) -> dict[str, list[model.Value]]:
    """Read values that members advertise for themselves, by option.

    :raises OwnershipError: if one cannot be read.
    """
    assert plugin.target is not None
    found = {
        declared.name: [*_values(plugin, declared, given)]
        for declared in plugin.target.options
    }
    return {name: values for name, values in found.items() if values}


def _values(
    plugin: plugins.Plugin, declared: options.Option, given: Sequence[Given]
) -> Iterator[model.Value]:
    """Yield the values that were given for one option, in order."""
    names = policy_options.names(declared)
    for one in given:
        if one.policy in ('', plugin.name) and one.name in names:
            yield policy_options.value_of(declared, one.name, one.text)


def _has_to_be_given(declared: options.Option) -> bool:
    # A default that stands for another option leads to a deployment.
    refers = isinstance(declared.default, str) and '$' in declared.default
    return refers or (declared.required and declared.default is None)
