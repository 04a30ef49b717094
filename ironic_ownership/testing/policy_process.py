"""Collect all answers of a policy, in this process or in another one.

Another process has another hash seed, another directory and another time
zone: the answers of a policy must not depend on any of them.
"""

from __future__ import annotations

import dataclasses
import importlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from typing import Any

from ironic_ownership.contracts import model, options, policy
from ironic_ownership.testing import purity

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
        'zz',
    ),
)
"""The live members of each situation, sorted, as a host passes them."""

TIMEOUT = 600.0
"""Seconds after which another process is killed."""

_CHILD = (
    'from ironic_ownership.testing import policy_process; '
    'policy_process.main()'
)

Settings = Mapping[str, model.Value]


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


def answers(
    asked: policy.Policy, nodes: Sequence[model.Node], hosts: Sequence[str]
) -> Sequence[Any]:
    """Return the answer of a policy for each node."""
    if isinstance(asked, policy.AssignerPolicy):
        return tuple(asked.assign(tuple(nodes), hosts))
    assert isinstance(asked, policy.FilterPolicy)
    return tuple(asked.admits(node) for node in nodes)


def ask(asked: policy.Policy, nodes: Sequence[model.Node]) -> Any:
    """Return all answers of a policy, in the form that JSON gives them."""
    found: dict[str, Any] = {'settings': sorted(asked.settings().items())}
    if isinstance(asked, policy.AssignerPolicy):
        for hosts in MEMBERS:
            key = ' '.join(hosts)
            found[key] = answers(asked, nodes, hosts)
            found[f'peers of {key}'] = [
                sorted(asked.peers(host, hosts, model.Scope()))
                for host in hosts
            ]
    else:
        assert isinstance(asked, policy.FilterPolicy)
        found['scope'] = repr(asked.scope())
        found['answers'] = answers(asked, nodes, ())
    return json.loads(json.dumps(found, default=repr))


def ask_elsewhere(
    target: type[policy.Policy],
    all_settings: Sequence[Settings],
    nodes: Sequence[model.Node],
    *,
    hash_seed: int,
) -> Elsewhere:
    """Collect all answers of a policy in a process of its own.

    :param target: a class that can be imported by its name.
    :raises AssertionError: if it cannot, or that process fails.
    """
    questions = {
        'module': target.__module__,
        'name': target.__qualname__,
        'settings': all_settings,
        'nodes': [dataclasses.asdict(node) for node in nodes],
    }
    with tempfile.TemporaryDirectory() as directory:
        done = subprocess.run(
            [sys.executable, '-c', _CHILD],
            input=json.dumps(questions, default=list),
            capture_output=True,
            text=True,
            timeout=TIMEOUT,
            check=False,
            cwd=directory,
            env={
                **os.environ,
                'PYTHONHASHSEED': str(hash_seed),
                'PYTHONPATH': os.pathsep.join(
                    os.path.abspath(entry)  # noqa: PTH100 - '' is here
                    for entry in sys.path
                ),
                'TZ': f'XYZ{hash_seed}',
            },
        )
    if done.returncode:
        raise AssertionError(
            f'{target.__module__}:{target.__qualname__} fails in a process '
            f'of its own: {done.stderr.strip()[-2000:]}'
        )
    return Elsewhere(**json.loads(done.stdout.splitlines()[-1]))


def main() -> None:
    """Answer the questions on the standard input, in the child process."""
    questions = json.load(sys.stdin)
    target: Any = importlib.import_module(questions['module'])
    for part in questions['name'].split('.'):
        target = getattr(target, part)
    nodes = [
        model.Node(**{**values, 'traits': tuple(values['traits'])})
        for values in questions['nodes']
    ]
    found = []
    with purity.watched() as outside:
        for settings in questions['settings']:
            values = {
                name: tuple(value) if isinstance(value, list) else value
                for name, value in settings.items()
            }
            found.append(
                ask(target(with_defaults(target.options, values)), nodes)
            )
    sys.stdout.write(
        f'\n{json.dumps({"answers": found, "outside": outside})}\n'
    )
