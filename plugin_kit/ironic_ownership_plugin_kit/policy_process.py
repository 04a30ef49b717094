"""Collect all answers of a policy, in this process or in another one.

Another process has another hash seed, another directory, another time zone
and another name of its machine; one of them asked other questions before. The
answers of a policy must not depend on any of that.
"""

from __future__ import annotations

import dataclasses
import json
import os
import pickle
import socket
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

from ironic_ownership.contracts import model, options, policy
from ironic_ownership_plugin_kit import purity

MEMBERS = (
    ('host1',),
    ('host1', 'host2'),
    ('host1', 'host2', 'host3'),
    (
        'cmp-1.example.org',
        'cmp-10.example.org',
        'cmp-2.example.org',
        'host1',
        'host2',
        'node_7',
        'zürich',
    ),
    tuple(sorted(f'compute-{number}' for number in range(1, 14))),
    tuple(f'compute-{number:02}.example.org' for number in range(24)),
)
"""The live members of each situation, sorted, as a host passes them."""

_PLACES = {
    host: place
    for place, host in enumerate(
        dict.fromkeys(host for hosts in MEMBERS for host in hosts)
    )
}

TIMEOUT = 30.0
"""Seconds after which another process is killed."""

_NAMED = 7
"""Most members that are named in words."""

_CHILD = (
    'from ironic_ownership_plugin_kit import policy_process; '
    'policy_process.main()'
)

Settings = Mapping[str, model.Value]

Values = Sequence[Mapping[str, model.Value]]
"""Values that members advertise for themselves, chosen by the host."""


@dataclasses.dataclass(frozen=True)
class Elsewhere:
    """Result of another process.

    :param answers: the result of :func:`ask` for each of the settings.
    :param outside: actions that are no computation.
    """

    answers: Any
    outside: Sequence[str]


def with_defaults(
    declared: Sequence[options.Option], settings: Settings
) -> dict[str, model.Value]:
    """Return a value for each declared option, as a host passes them."""
    defaults = {option.name: option.default for option in declared}
    return {**defaults, **settings}


def values_of(
    target: type[policy.Policy], settings: Settings
) -> dict[str, model.Value]:
    """Return a value for each option and each source of a policy.

    :param settings: also the snapshots of its sources; the others are
        ``None``, as before the first read.
    """
    unread: Settings = dict.fromkeys(one.name for one in target.sources)
    return with_defaults(target.options, {**unread, **settings})


def answers(
    asked: policy.Policy,
    nodes: Sequence[model.Node],
    hosts: Sequence[str],
    values: Values = (),
    owners: Mapping[str, str] | None = None,
) -> Sequence[Any]:
    """Return the answer of a policy for each node.

    :param values: what members advertise for themselves, one of them for
        each host; by default what the options declare.
    :param owners: on record; by default of any kind, if the policy reads
        them.
    """
    if isinstance(asked, policy.AssignerPolicy):
        if owners is None:
            owners = owners_on_record(asked, nodes, hosts)
        request = policy.AssignmentRequest(
            tuple(nodes), peers(asked, hosts, values), owners
        )
        return tuple(_owner(one) for one in asked.choose(request))
    assert isinstance(asked, policy.FilterPolicy)
    return tuple(asked.admits(node) for node in nodes)


def peers(
    asked: policy.Policy, hosts: Sequence[str], values: Values = ()
) -> tuple[policy.Peer, ...]:
    """Return members with what they advertise for themselves.

    :param values: an empty one is that of a release without such options.
    """
    default = {o.name: o.default for o in asked.options if o.per_member}
    default |= dict.fromkeys(s.name for s in asked.sources if s.per_member)
    return tuple(
        policy.Peer(
            host,
            {**default, **one} if one or not values else {},
        )
        for host in hosts
        for one in (values[_place(host) % len(values)] if values else {},)
    )


def _place(host: str) -> int:
    # The first hosts of a situation have different values.
    return _PLACES.get(host, zlib.crc32(host.encode()))


def owners_on_record(
    asked: policy.Policy, nodes: Sequence[model.Node], hosts: Sequence[str]
) -> dict[str, str]:
    """Return owners of all kinds: members, services that left, and none."""
    if not getattr(asked, 'reads_owners', False):
        return {}
    known = [*sorted(hosts), 'gone.example.org', None]
    found = {n.uuid: known[int(n.uuid[:8], 16) % len(known)] for n in nodes}
    return {uuid: owner for uuid, owner in found.items() if owner is not None}


def _owner(chosen: Any) -> Any:
    return chosen.host if isinstance(chosen, policy.Choice) else chosen


def ask(
    asked: policy.Policy, nodes: Sequence[model.Node], values: Values = ()
) -> Any:
    """Return all answers of a policy, in the form that JSON gives them."""
    found: dict[str, Any] = {'settings': sorted(asked.settings().items())}
    if isinstance(asked, policy.AssignerPolicy):
        for hosts in MEMBERS:
            key = among(hosts)
            given = answers(asked, nodes, hosts, values)
            found[key] = _by_node(nodes, given)
            found[f'peers {key}'] = {
                host: sorted(asked.peers(host, hosts, model.Scope()))
                for host in hosts
            }
    else:
        assert isinstance(asked, policy.FilterPolicy)
        found['scope'] = repr(asked.scope())
        found['answers'] = _by_node(nodes, answers(asked, nodes, ()))
    return json.loads(json.dumps(found, default=repr))


def among(hosts: Sequence[str]) -> str:
    """Return words for a situation."""
    if len(hosts) > _NAMED:
        return f'among {len(hosts)} members'
    return f'among {", ".join(hosts)}' if hosts else 'without members'


def altered(nodes: Sequence[model.Node]) -> list[model.Node]:
    """Return nodes in reverse order, each with the attributes of another."""
    return [
        dataclasses.replace(other, uuid=node.uuid)
        for node, other in zip(
            reversed(nodes), [*nodes[-1:], *nodes[:-1]], strict=True
        )
    ]


def _by_node(
    nodes: Sequence[model.Node], given: Sequence[Any]
) -> dict[str, Any]:
    return {
        f'node {node.uuid}': answer
        for node, answer in zip(nodes, given, strict=False)
    }


def ask_elsewhere(
    target: type[policy.Policy],
    all_settings: Sequence[Settings],
    nodes: Sequence[model.Node],
    *,
    number: int,
    values: Values = (),
) -> Elsewhere:
    """Collect all answers of a policy in a process of its own.

    :param number: of the process. Beyond the first, it answers other questions
        before, on what looks like another machine.
    :param target: a class that can be imported by its name.
    :raises AssertionError: if it cannot, or that process fails.
    """
    # Each node for itself, so that no two share a text.
    pickled = [pickle.dumps(node) for node in nodes]
    questions = pickle.dumps((target, all_settings, values, pickled))
    name = f'{target.__module__}:{target.__qualname__}'
    with tempfile.TemporaryDirectory() as directory:
        try:
            done = subprocess.run(
                [sys.executable, '-c', _CHILD, str(number)],
                input=questions,
                capture_output=True,
                timeout=TIMEOUT,
                check=False,
                cwd=directory,
                env=_environment(number, directory),
            )
        except subprocess.TimeoutExpired as exc:
            raise AssertionError(
                f'{name} still runs after {TIMEOUT:g} s in a process of its '
                'own'
            ) from exc
    if done.returncode:
        raise AssertionError(
            f'{name} fails in a process of its own: '
            f'{done.stderr.decode(errors="replace").strip()[-2000:]}'
        )
    return Elsewhere(*json.loads(done.stdout.splitlines()[-1]))


def _environment(number: int, home: str) -> dict[str, str]:
    return {
        **os.environ,
        'HOME': home,
        'HOSTNAME': f'machine{number}',
        'LC_ALL': 'C' if number % 2 else 'C.UTF-8',
        'PYTHONCOERCECLOCALE': '0',
        'PYTHONHASHSEED': str(number),
        'PYTHONPATH': os.pathsep.join(
            os.path.abspath(entry)  # noqa: PTH100 - '' is here
            for entry in sys.path
        ),
        'PYTHONUTF8': '0',
        'TZ': f'XYZ{number}',
        'USER': f'user{number}',
    }


def main() -> None:
    """Answer the questions on the standard input, in the child process."""
    number = int(sys.argv[1])
    if number > 1:
        _be_another_machine(number)
    target, all_settings, values, pickled = pickle.load(sys.stdin.buffer)  # noqa: S301 - of our own
    nodes = [pickle.loads(one) for one in pickled]  # noqa: S301 - as above
    all_values = [values_of(target, settings) for settings in all_settings]
    with purity.watched() as outside:
        if number > 1:
            for one in reversed(all_values):
                _disturb(target(dict(one)), nodes)
        found = [ask(target(dict(one)), nodes, values) for one in all_values]
    sys.stdout.write(f'\n{json.dumps([found, outside])}\n')


def _disturb(asked: policy.Policy, nodes: Sequence[model.Node]) -> None:
    """Ask other questions first, for state outside of the instance."""
    others = altered(nodes)
    for members in reversed(MEMBERS):
        hosts = () if isinstance(asked, policy.FilterPolicy) else members
        answers(asked, others, hosts)
        answers(asked, others[::3], hosts)


def _be_another_machine(number: int) -> None:
    """Change what a policy may read about the machine as it is imported."""
    major_minor = '.'.join(map(str, sys.version_info[:2]))
    sys.version = f'{major_minor}.{90 + number} (main, Jan  1 2000) [GCC 1.0]'
    names = list(os.uname())
    names[1] = f'machine{number}'
    uname = os.uname_result(names)
    os.uname = lambda: uname
    socket.gethostname = lambda: names[1]
