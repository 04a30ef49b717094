"""The settings that a member advertises, from which all processes decide.

Immutable values, representable in JSON. No IO, standard library only.
"""

from __future__ import annotations

import dataclasses
import json
import math
import operator
from collections.abc import Mapping
from typing import Any

CONTRACT_VERSION = 2
"""Newest version of the plugin contract that this release supports."""

SUPPORTED_VERSIONS = (1, 2)
"""Versions of the plugin contract that this release supports."""

MAX_SETTINGS_BYTES = 60_000
"""Largest :meth:`MemberSettings.to_json`, in bytes: every process reads those
of all members, and a column of MariaDB holds 65,535."""

Value = str | int | float | bool | tuple[str, ...] | None
"""Type of an advertised option: representable in JSON, and hashable."""


@dataclasses.dataclass(frozen=True, slots=True)
class PolicySettings:
    """One policy as a member runs it: its name and canonical options."""

    name: str
    options: tuple[tuple[str, Value], ...] = ()

    @classmethod
    def of(cls, name: str, options: Mapping[str, Value]) -> PolicySettings:
        """Build settings whose equality does not depend on option order."""
        return cls(name, tuple(sorted(options.items())))


_ALL = PolicySettings('all')
_NAME = operator.attrgetter('name')


@dataclasses.dataclass(frozen=True, slots=True)
class ProcessInfo:
    """The process of a member, for operators and their commands.

    :param machine: name of the machine.
    :param version: of the distribution ``ironic-ownership``.
    :param member_ttl: seconds; ``None`` if its release does not advertise it.
    :param common: lines of its configuration that all processes of a
        deployment need; none if its release does not advertise them.
    """

    machine: str
    pid: int
    version: str
    member_ttl: float | None = None
    common: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True, slots=True)
class MemberSettings:
    """The settings that a member advertises, to compute its decisions.

    Two members whose settings are :attr:`shared` are peers: the same
    policies, in any order, with the same options.

    :param contract_version: the newest that any of the policies is written
        for: a release that does not support it cannot decide for the member.
    :param values: what each policy advertises for this member alone. No part
        of what makes peers.
    :param process: no part of any decision about owners, nor of any
        comparison; ``None`` if the release of the member does not advertise
        it.
    """

    policies: tuple[PolicySettings, ...] = ()
    contract_version: int = 1
    values: tuple[PolicySettings, ...] = ()
    process: ProcessInfo | None = dataclasses.field(
        default=None, compare=False
    )

    @property
    def decisive(self) -> MemberSettings:
        """The part from which decisions follow: all but the process."""
        if self.process is None:
            return self
        return dataclasses.replace(self, process=None)

    @property
    def shared(self) -> MemberSettings:
        """The part that makes peers, equal for equal decisions.

        Without the values of the member. Every filter has to admit a node
        and there is one assigner, so the order of the names means nothing;
        nor does ``all`` if it is not the only one.
        """
        policies = self.policies
        if len(policies) > 1:
            others = (one for one in policies if one != _ALL)
            policies = tuple(sorted(others, key=_NAME)) or (_ALL,)
        if not self.values and policies == self.policies:
            return self.decisive
        return dataclasses.replace(
            self, policies=policies, values=(), process=None
        )

    @property
    def permission_lifetime(self) -> float | None:
        """Seconds for which a permission lasts that is not confirmed.

        A heartbeat interval, which may change: at most a third of the
        ``member_ttl`` of the process. ``None`` if it does not advertise that.
        """
        ttl = self.process.member_ttl if self.process else None
        return None if ttl is None else ttl / 3

    @property
    def own_values(self) -> Mapping[str, Value]:
        """Values that the policies advertise for this member alone."""
        return {
            name: value for one in self.values for name, value in one.options
        }

    def to_json(self) -> str:
        """Return one line of JSON, equal for equal settings."""
        data: dict[str, Any] = {
            'contract_version': self.contract_version,
            'policies': [_json(policy) for policy in self.policies],
        }
        if self.values:
            data['values'] = [_json(policy) for policy in self.values]
        if self.process is not None:
            data['process'] = dataclasses.asdict(self.process)
        return json.dumps(data, sort_keys=True, separators=(',', ':'))

    @property
    def size_fault(self) -> str | None:
        """The reason why they are too large; ``None`` if they are not."""
        size = len(self.to_json())
        if size <= MAX_SETTINGS_BYTES:
            return None
        largest = max(
            self.policies,
            key=lambda one: len(MemberSettings((one,)).to_json()),
        )
        return (
            f'the settings of its policies have {size} bytes, and at most '
            f'{MAX_SETTINGS_BYTES} are advertised: give {largest.name!r} '
            'shorter options'
        )

    @classmethod
    def from_json(cls, text: str) -> MemberSettings:
        """Parse the output of :meth:`to_json`, also of other releases.

        :raises ValueError: if the text is no JSON object of that form.
        """
        try:
            data = strict_json(text)
            return cls(
                policies=tuple(map(_policy, data['policies'])),
                contract_version=int(data['contract_version']),
                values=tuple(map(_policy, data.get('values', ()))),
                process=_process(data.get('process')),
            )
        except (KeyError, TypeError, AttributeError, RecursionError) as exc:
            raise ValueError(f'not member settings: {text!r:.200}') from exc


def stored(text: str) -> MemberSettings:
    """Read settings that any release, or a person, may have written.

    :returns: such as no release supports, if they cannot be read.
    """
    try:
        found = MemberSettings.from_json(text)
        # Settings are compared as members of sets, and JSON can hold more
        # than a set can.
        hash(found)
    except (ValueError, TypeError):
        return MemberSettings(contract_version=0)
    return found


def is_value(value: object) -> bool:
    """Tell whether a value can be advertised."""
    if isinstance(value, tuple):
        return all(isinstance(item, str) for item in value)
    if isinstance(value, float):
        return math.isfinite(value)
    return value is None or isinstance(value, str | int)


def strict_json(text: str) -> Any:
    """Parse JSON that every process can write again.

    :raises ValueError: also for a number that is not finite, and for
        characters that no encoding has.
    :raises RecursionError: if it is too deep.
    """
    data = json.loads(text)
    json.dumps(data, ensure_ascii=False, allow_nan=False).encode()
    return data


def _json(policy: PolicySettings) -> dict[str, Any]:
    return {'name': policy.name, 'options': dict(policy.options)}


def _policy(data: Any) -> PolicySettings:
    return PolicySettings.of(
        str(data['name']),
        {name: _frozen(value) for name, value in data['options'].items()},
    )


def _process(data: Any) -> ProcessInfo | None:
    try:
        found = ProcessInfo(
            str(data['machine']), int(data['pid']), str(data['version'])
        )
        if 'member_ttl' not in data:
            return found
        ttl, common = float(data['member_ttl']), tuple(data['common'])
        return dataclasses.replace(found, member_ttl=ttl, common=common)
    except (KeyError, TypeError, ValueError):  # of another release
        return None


def _frozen(value: Any) -> Value:
    if isinstance(value, list):
        return tuple(map(str, value))
    if value is None or isinstance(value, str | int | float):
        return value
    raise TypeError(f'a {type(value).__name__} is not a value of an option')
