"""Settings that services do not have: policies and options in words.

Read and validated as those of a configuration file, for each member.
"""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Collection, Iterator, Mapping, Sequence

from ironic_ownership import plugins
from ironic_ownership.cli import errors
from ironic_ownership.cli import plugin_options as cli_plugin_options
from ironic_ownership.contracts import exceptions, model
from ironic_ownership.contracts.policy import AssignerPolicy, Policy

Classes = Mapping[str, type[Policy]]


@dataclasses.dataclass(frozen=True)
class Given:
    """One option as it was given.

    :param host: the one member that it is for; empty for all.
    :param policy: the policy whose option it is; empty for any.
    """

    host: str
    policy: str
    name: str
    text: str


def option(words: str) -> Given:
    """Read ``[HOST:][POLICY.]NAME=VALUE``.

    :raises ArgumentTypeError: if it is something else.
    """
    left, equals, text = words.partition('=')
    host, _, name = left.rpartition(':')
    policy_, _, name = name.rpartition('.')
    if not equals or not name.strip():
        raise argparse.ArgumentTypeError(
            f'{words!r} is not [HOST:][POLICY.]NAME=VALUE'
        )
    return Given(
        model.canonical_host(host), policy_.strip(), name.strip(), text.strip()
    )


def policies(words: str) -> Classes:
    """Load a comma-separated list of policies.

    :raises OwnershipError: if one does not exist, or two do not fit.
    """
    names = [name.strip() for name in words.split(',') if name.strip()]
    if not names:
        raise errors.UsageError('an empty list of policies')
    known = {plugin.name for plugin in plugins.installed(plugins.POLICIES)}
    for name in names:
        if name not in known:
            raise errors.unknown('policy', name, known)
        if names.count(name) > 1:
            raise exceptions.OwnershipError(
                f'{words} names {name!r} more than once'
            )
    classes = plugins.policies(names)
    assigners = [
        name
        for name, target in classes.items()
        if issubclass(target, AssignerPolicy)
    ]
    if len(assigners) > 1:
        raise exceptions.OwnershipError(
            f'{words} names more than one assigner: {", ".join(assigners)}',
            hint='Keep one of them',
        )
    return classes


def check_options(
    given: Sequence[Given], classes: Classes, hosts: Collection[str]
) -> None:
    """Refuse options that nobody would read.

    :param classes: all policies in question.
    :raises NotFoundError: naming what is near.
    """
    for one in given:
        if one.host and one.host not in hosts:
            raise errors.unknown('member', one.host, hosts)
        if one.policy and one.policy not in classes:
            raise errors.unknown('policy', one.policy, set(classes))
        declared = {
            name
            for policy_, target in classes.items()
            if one.policy in ('', policy_)
            for declared in target.options
            for name in cli_plugin_options.names(declared)
        }
        if one.name not in declared:
            raise errors.unknown('option', one.name, declared)


def settings(
    member: model.Member, classes: Classes, given: Sequence[Given]
) -> model.MemberSettings:
    """Return what a member would advertise.

    An option that is not given is as the member advertises it now, or else
    has its default.

    :raises OwnershipError: if the member could not start with that.
    """
    found = []
    for name, target in classes.items():
        values = dict(_values(member, name, target, given))
        instance = target(values)
        try:
            instance.check_host(member.host)
        except exceptions.PolicySettingsError as exc:
            raise exceptions.OwnershipError(
                f'{member.host} could not run {name}: {exc}'
            ) from exc
        found.append(model.PolicySettings.of(name, instance.settings()))
    return model.MemberSettings(tuple(found))


def _values(
    member: model.Member,
    name: str,
    target: type[Policy],
    given: Sequence[Given],
) -> Iterator[tuple[str, model.Value]]:
    advertised: dict[str, model.Value] = {}
    for policy_ in member.settings.policies:
        if policy_.name == name:
            advertised = dict(policy_.options)
    for declared in target.options:
        value = advertised.get(declared.name, declared.default)
        # One for this host counts more than one for all, the last the most.
        for one in sorted(given, key=lambda g: bool(g.host)):
            if (
                one.host in ('', member.host)
                and one.policy in ('', name)
                and one.name in cli_plugin_options.names(declared)
            ):
                value = cli_plugin_options.read(declared, one.name, one.text)
        if declared.required and value is None:
            raise exceptions.OwnershipError(
                f'{member.host} could not run {name}: its option '
                f'{declared.name} is missing',
                hint=f'Add --option {member.host}:{declared.name}=VALUE',
            )
        yield declared.name, value
