"""Hypothetical policies and options, read as those of a configuration file."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from ironic_ownership import plugins
from ironic_ownership.conf import configuration
from ironic_ownership.contracts import exceptions, model, options, refusals
from ironic_ownership.contracts.policy import AssignerPolicy, Policy
from ironic_ownership.engine import suggestions

Classes = Mapping[str, type[Policy]]


@dataclasses.dataclass(frozen=True)
class Given:
    """One option as it was given.

    :param host: the member that it is for; empty for all members.
    :param policy: the policy whose option it is; empty for any.
    """

    host: str
    policy: str
    name: str
    text: str

    def is_of(self, policy: str, declared: options.Option) -> bool:
        """Tell whether it is this option of this policy."""
        return self.policy in ('', policy) and self.name in names(declared)


def option(words: str) -> Given:
    """Parse ``[HOST:][POLICY.]NAME=VALUE``.

    :raises ScenarioError: if it is something else.
    """
    left, *rest = words.partition('=')
    host, _, left = left.rpartition(':')
    policy_, name, text = split(''.join((left, *rest)))
    if not name:
        raise refusals.ScenarioError(
            f'{words!r} is not [HOST:][POLICY.]NAME=VALUE'
        )
    return Given(model.canonical_host(host), policy_, name, text)


def split(words: str) -> tuple[str, str, str]:
    """Split ``[PLUGIN.]NAME=VALUE``.

    :returns: the plugin, which may be empty, the name and the value. The
        name is empty for anything else.
    """
    left, equals, text = words.partition('=')
    plugin, _, name = left.rpartition('.')
    return plugin.strip(), name.strip() if equals else '', text.strip()


def policies(words: str, may_import: Callable[[str], bool]) -> Classes:
    """Load a comma-separated list of policies.

    :param may_import: tells whether a policy may be imported.
    :raises OwnershipError: if one does not exist or must not be imported, or
        two do not fit.
    """
    names = [name.strip() for name in words.split(',') if name.strip()]
    if not names:
        raise refusals.ScenarioError('an empty list of policies')
    known = {*plugins.names(plugins.POLICIES)}
    for name in names:
        if name not in known:
            raise suggestions.unknown('policy', name, known)
        if not may_import(name):
            raise refusals.ScenarioError(
                f'the policy {name} may not be imported here',
                hint=f'Add {name} to [ownership] importable_policies',
            )
        if names.count(name) > 1:
            raise refusals.ScenarioError(
                f'{words} names {name!r} more than once'
            )
    classes = plugins.policies(names)
    assigners = [
        name
        for name, target in classes.items()
        if issubclass(target, AssignerPolicy)
    ]
    if len(assigners) > 1:
        raise refusals.ScenarioError(
            f'{words} names more than one assigner: {", ".join(assigners)}',
            hint='Keep one of them',
        )
    return classes


def check_options(
    given: Sequence[Given], classes: Classes, hosts: Collection[str]
) -> None:
    """Refuse options that no policy has.

    :param classes: all policies in question.
    :raises NotFoundError: naming what is near.
    """
    for one in given:
        if one.host and one.host not in hosts:
            raise suggestions.unknown('member', one.host, hosts)
        if one.policy and one.policy not in classes:
            raise suggestions.unknown('policy', one.policy, set(classes))
        declared = {
            name
            for policy_, target in classes.items()
            if one.policy in ('', policy_)
            for declared in target.options
            for name in names(declared)
        }
        if one.name not in declared:
            raise suggestions.unknown('option', one.name, declared)


def settings(
    member: model.Member, classes: Classes, given: Sequence[Given]
) -> model.MemberSettings:
    """Return what a member would advertise.

    An option that is not given is as the member advertises it now, or else
    has its default.

    :raises OwnershipError: if the member could not start with that.
    """
    found, own = [], []
    for name, target in classes.items():
        values = dict(_values(member, name, target, given))
        try:
            instance = target(values)
            instance.check_host(member.host)
        except exceptions.PolicySettingsError as exc:
            raise refusals.ScenarioError(
                f'{member.host} could not run {name}: {exc}'
            ) from exc
        found.append(model.PolicySettings.of(name, instance.settings()))
        of_member = instance.member_values()
        if of_member:
            own.append(model.PolicySettings.of(name, of_member))
    advertised = model.MemberSettings(
        tuple(found),
        max((c.contract_version for c in classes.values()), default=1),
        tuple(own),
    )
    too_large = advertised.size_fault
    if too_large:
        raise refusals.ScenarioError(
            f'{member.host} could not start: {too_large}'
        )
    return advertised


def _values(
    member: model.Member,
    name: str,
    target: type[Policy],
    given: Sequence[Given],
) -> Iterator[tuple[str, model.Value]]:
    advertised: dict[str, model.Value] = {}
    for policy_ in (*member.settings.policies, *member.settings.values):
        if policy_.name == name:
            advertised |= dict(policy_.options)
    for declared in target.options:
        value = advertised.get(declared.name, declared.default)
        # One for this host counts more than one for all, the last the most.
        for one in sorted(given, key=lambda g: bool(g.host)):
            if one.host in ('', member.host) and one.is_of(name, declared):
                value = value_of(declared, one.name, one.text)
        if declared.required and value is None:
            raise refusals.ScenarioError(
                f'{member.host} could not run {name}: its option '
                f'{declared.name} is missing',
                hint=f'Add --option {member.host}:{declared.name}=VALUE',
            )
        yield declared.name, value


def value_of(declared: options.Option, name: str, text: str) -> model.Value:
    """Return the value of an option.

    :param name: by which it was given.
    :raises ScenarioError: if it cannot be parsed.
    """
    try:
        value = configuration.to_oslo(declared).type(text)
    except ValueError as exc:
        raise refusals.ScenarioError(f'--option {name}={text}: {exc}') from exc
    frozen = configuration.frozen(value)
    wrong = configuration.wrong(declared, frozen)
    if wrong:
        raise refusals.ScenarioError(f'--option {name}={text}: {wrong}')
    return frozen


def names(declared: options.Option) -> tuple[str, ...]:
    """Return the names by which an option can be given."""
    return declared.name, *declared.aliases
