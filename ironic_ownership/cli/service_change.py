"""``service set|delete|failover``; all work while Ironic is down."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any, ClassVar

from ironic_ownership.cli import arguments, base, change, errors
from ironic_ownership.cli.change import Body

_VERBS = {
    ('disabled', True): 'disable',
    ('disabled', False): 'enable',
    ('forced_down', True): 'force down',
    ('forced_down', False): 'end the forced-down state of',
}
"""Verbs of a change, by the argument and its value."""

_REASON = 'change the disable reason of'


class SetService(change.ChangeOne):
    """Enable or disable a service, force it down, or give it an order.

    A disabled service (cordon) gets no more nodes and keeps those that it
    has. A forced-down service is fenced immediately, even if its process
    still runs. After --up it registers again automatically. A standing order
    moves its deployed nodes to other services once it has been fenced for
    that time; that needs the middleware in Ironic.
    """

    operation = 'service:set'
    options: ClassVar = {
        **dict.fromkeys(('disabled', 'forced_down')),
        'disabled_reason': {
            'flag': '--disable-reason',
            'type': arguments.reason,
            'metavar': 'TEXT',
            'help': 'why it is disabled, for other operators (with --disable)',
        },
        'take_over_deployed_after': None,
        'take_over_deployed_to': {'metavar': 'HOST'},
    }
    notes = (
        '"changed" names the settings that have changed; a repeated command '
        'changes\nnothing.'
    )
    examples = (
        'service set rack1 --disable --disable-reason "new fans"',
        'service set rack1 --down --reason "host is on fire" --yes',
        'service set rack1 --up --enable',
        'service set rack1 --take-over-deployed-after 600 --reason "on call"',
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        for yes, no, dest, what in (
            ('--disable', '--enable', 'disabled', 'cordon it: no more nodes'),
            ('--down', '--up', 'forced_down', 'force it down: fence it'),
        ):
            add = parser.add_mutually_exclusive_group().add_argument
            add(yes, dest=dest, action='store_true', default=None, help=what)
            undo = f'undo {yes}'
            add(no, dest=dest, action='store_false', default=None, help=undo)
        group = parser.add_mutually_exclusive_group()
        group.add_argument(
            '--take-over-deployed-after',
            type=arguments.positive,
            metavar='SECONDS',
            help='move its deployed nodes to other services when it has been '
            'fenced for this time (with --reason)',
        )
        group.add_argument(
            '--no-take-over-deployed',
            action='store_true',
            help='revoke that order',
        )

    def body(self, parsed_args: argparse.Namespace) -> dict[str, Any]:
        given = super().body(parsed_args)
        if parsed_args.no_take_over_deployed:
            given['take_over_deployed_after'] = None
        if parsed_args.disabled_reason is not None and not (
            parsed_args.disabled
        ):
            raise errors.UsageError('--disable-reason goes with --disable')
        _check_order(parsed_args)
        if not {*given} - {'reason'}:
            raise errors.UsageError(
                'nothing to set',
                hint='Add --disable, --enable, --down, --up or '
                '--take-over-deployed-after',
            )
        return given

    def describe(self, proposal: Body, parsed_args: argparse.Namespace) -> str:
        changed = proposal['changed']
        # A service of an earlier release sets one at a time.
        hosts = proposal.get('services') or [proposal['host']]
        verbs = [
            text
            for (name, value), text in _VERBS.items()
            if name in changed and getattr(parsed_args, name) is value
        ]
        if not changed:
            return ''
        if parsed_args.no_take_over_deployed:
            verbs = ['revoke the standing order of']
        if parsed_args.take_over_deployed_after is not None:
            verbs = ['give a standing order to']
        what = 'service' if len(hosts) == 1 else 'services'
        return f'{" and ".join(verbs or [_REASON])} {what} {", ".join(hosts)}'


def _check_order(given: argparse.Namespace) -> None:
    """Refuse options of a standing order that do not fit together."""
    name = '--take-over-deployed'
    ordered = given.take_over_deployed_after is not None
    if given.take_over_deployed_to is not None and not ordered:
        raise errors.UsageError(f'{name}-to goes with {name}-after')
    if ordered and not given.reason:
        raise errors.UsageError(f'{name}-after needs --reason')
    if given.whole_scope and not (ordered or given.no_take_over_deployed):
        raise errors.UsageError(
            f'--whole-scope goes with {name}-after or --no{name[1:]}'
        )
    states = given.disabled, given.forced_down
    if (ordered or given.no_take_over_deployed) and states != (None, None):
        raise errors.UsageError(
            'a standing order and the state of a service cannot be set in one '
            'command',
            hint='Use two commands',
        )


class DeleteService(change.ChangeCommand, base.Lister):
    """Delete a service that owns nothing and does not run.

    All gates are shown, with everything that remains of the service. If one
    fails, the exit code is 3 and nothing is changed. The provider of its
    capacity in Placement is deleted, too.
    """

    operation = 'service:delete'
    examples = (
        'service delete rack1 --dry-run',
        'service delete rack1 --reason CHG-42 --yes',
    )

    def describe(self, proposal: Body, parsed_args: argparse.Namespace) -> str:
        return f'delete service {proposal["host"]}'

    def refusals(self, proposal: Body) -> Sequence[str]:
        failed = [g['gate'] for g in proposal['gates'] if not g['passed']]
        what = f'service {proposal["host"]} is not deleted'
        return [f'{what}, refused by: {", ".join(failed)}'] if failed else []


class FailoverService(change.ChangeOne):
    """Make a standby the active process of its service.

    The active process is fenced immediately, and stands by from then on. No
    node changes owner. The command waits until the standby has taken over.
    """

    operation = 'service:failover'
    options: ClassVar = {'to': {'metavar': 'INCARNATION'}}
    notes = """\
Refused, with exit code 3, if no process stands by, if several do and none is
named with --to, or if the service is forced down. If the standby does not
take over, because it dies at that moment, the exit code is 4, and the process
that was active registers again automatically."""
    examples = (
        'service failover rack1 --dry-run',
        'service failover rack1 --to 4f6c --yes',
    )

    def describe(self, proposal: Body, parsed_args: argparse.Namespace) -> str:
        return (
            f'hand {proposal["host"]} over to incarnation '
            f'{proposal["to_incarnation"]}'
        )

    def refusals(self, proposal: Body) -> Sequence[str]:
        return [
            f'refused by {gate["gate"]}: {gate["detail"]}. '
            f'{gate.get("hint", "")}'
            for gate in proposal['gates']
            if not gate['passed']
        ]
