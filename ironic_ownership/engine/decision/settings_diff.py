"""Differences of advertised settings, and why settings can't be read.

Pure, and independent of the policies: works for third-party ones, too.
"""

from __future__ import annotations

from collections.abc import Mapping

from ironic_ownership.contracts import model
from ironic_ownership.engine import suggestions
from ironic_ownership.engine.decision import policy_set

_Hosts = tuple[str, ...]


def unreadable(
    settings: model.MemberSettings, interpret: policy_set.Interpreter
) -> str:
    """Return why this process can't read settings; empty if it can."""
    if interpret(settings) is not None:
        return ''
    if settings.contract_version not in model.SUPPORTED_VERSIONS:
        supported = ' and '.join(map(str, model.SUPPORTED_VERSIONS))
        return (
            f'contract version {settings.contract_version}, while this '
            f'release supports {supported}'
        )
    # Read each alone to find the unknown ones.
    unknown = [
        policy.name
        for policy in settings.policies
        if interpret(model.MemberSettings((policy,))) is None
    ]
    names = ', '.join(repr(name) for name in unknown) or 'its policies'
    return (
        f'policy {names} is not installed, not importable here or refuses its '
        'options'
    )


def assigner(
    settings: model.MemberSettings, interpret: policy_set.Interpreter
) -> str | None:
    """Return the name of the assigner, if there is one."""
    for policy in settings.policies:
        alone = interpret(model.MemberSettings((policy,)))
        if alone is not None and alone.assigner is not None:
            return policy.name
    return None


def differences(settings: Mapping[_Hosts, model.MemberSettings]) -> str:
    """Return how the settings of several services differ.

    :param settings: by the hosts that advertise them.
    """
    options_of = {hosts: dict(items(text)) for hosts, text in settings.items()}
    names = [name for items in options_of.values() for name in items]
    different = [
        name
        for name in dict.fromkeys(names)
        if len({items.get(name) for items in options_of.values()}) > 1
    ]
    return '; '.join(
        f'{suggestions.listed(hosts)}: '
        + ', '.join(f'{name}={items.get(name, "unset")}' for name in different)
        for hosts, items in options_of.items()
    )


def items(settings: model.MemberSettings) -> list[tuple[str, str]]:
    """Return the name and the value of each advertised option, as text."""
    names = ','.join(policy.name for policy in settings.policies)
    return [
        ('policies', names),
        *(
            (f'{policy.name}.{name}', value_text(value))
            for policy in settings.policies
            for name, value in policy.options
        ),
    ]


def value_text(value: model.Value) -> str:
    """Return the value of an option as it is written in a file."""
    if isinstance(value, tuple):
        return f'[{",".join(value)}]'
    return '""' if value == '' else str(value)
