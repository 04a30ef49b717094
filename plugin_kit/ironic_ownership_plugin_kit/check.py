"""``plugin check``: whether an installed plugin keeps its contract.

Runs the suites that authors subclass, on what is installed here. Reads no
configuration, except that of Ironic when asked to: options are given on the
command line, and a backend is never tried on the store of a deployment by
accident.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from ironic_ownership import plugins
from ironic_ownership.api import schemas
from ironic_ownership.cli import base, errors
from ironic_ownership.contracts import backend, exceptions, model, texts
from ironic_ownership_plugin_kit import check_input

if TYPE_CHECKING:
    from ironic_ownership_plugin_kit import runner

_GROUPS = {'policies': plugins.POLICIES, 'backends': plugins.BACKENDS}
_MEMBER_TTL = 6.0

Row = tuple[plugins.Plugin, 'runner.Finding']
"""One law and one plugin."""


_COLUMNS = (
    schemas.Column[Row]('plugin', lambda row: row[0].name),
    schemas.Column[Row]('distribution', lambda row: row[0].distribution),
    schemas.Column[Row]('law', lambda row: row[1].law),
    schemas.Column[Row]('result', lambda row: row[1].result),
    schemas.Column[Row]('detail', lambda row: row[1].detail or None),
)


class CheckPlugin(base.Lister):
    """Run the contract suite on an installed policy or backend.

    Prints one row for each law, and exits with 1 if one is broken.
    """

    uses_api = False
    keys = schemas.keys(_COLUMNS)
    notes = """\
Options that are not given have their defaults; the configuration is not read.
A law that says nothing about the plugin is "skipped".
Options that each service advertises for itself, such as a weight, have
different values among the members of the check: the one of --option, and
others that the policy accepts, or those of --peer-value.
--nodes and --from-ironic check a policy on nodes of a deployment as well,
before any of its services runs it. The file is what "openstack baremetal node
list --long -f json" prints, or a list of nodes with the names of Ironic's
API. --from-ironic lists every node that the configured credential and policies
may list, and changes nothing.
A backend joins its store under made-up names, so give it one of its own: it
is refused if it has members. Every law of a backend really waits for members
to expire, --member-ttl seconds, which takes minutes for all of them. What
needs an outage of the store is not tried here: that is for the tests of its
author."""
    examples = (
        'plugin check rack_affinity --option rack=r1',
        'plugin check zone_spread --option zone=a --peer-value zone=b',
        'plugin check ironic-ownership-rack-affinity',
        'plugin check rack_affinity --option rack=r1 --nodes nodes.json',
        'plugin check peer_list --from-ironic -f json',
        'plugin check db --option connection=sqlite:////tmp/members.sqlite',
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        add = parser.add_argument
        add(
            'name',
            metavar='NAME|DIST',
            help='a policy or backend as the configuration names it, or a '
            'distribution, all of whose plugins are checked',
        )
        add(
            '--group',
            choices=sorted(_GROUPS),
            help='which one is meant, where a policy and a backend have the '
            'same name',
        )
        add(
            '--option',
            dest='options',
            type=check_input.option,
            action='append',
            default=[],
            metavar='[PLUGIN.]NAME=VALUE',
            help='an option of the plugin; may be repeated',
        )
        add(
            '--peer-value',
            dest='peer_values',
            type=check_input.option,
            action='append',
            default=[],
            metavar='[PLUGIN.]NAME=VALUE',
            help='for policies: another value of an option that each service '
            'advertises for itself, which some members of the check have; '
            'may be repeated (default: some that the policy accepts)',
        )
        add(
            '--member-ttl',
            type=_seconds,
            default=_MEMBER_TTL,
            metavar='SECONDS',
            help='for backends: time to live of a member in the check '
            f'(default: {_MEMBER_TTL:g}); longer on a slow machine',
        )
        add(
            '--time-limit',
            type=_seconds,
            metavar='SECONDS',
            help='time after which a law is broken, and the next one is '
            'checked (default: 60, and longer for a backend)',
        )
        fleet = parser.add_mutually_exclusive_group()
        fleet.add_argument(
            '--nodes',
            metavar='FILE',
            help='for policies: JSON or YAML with nodes to check it on as '
            'well; - for standard input',
        )
        fleet.add_argument(
            '--from-ironic',
            action='store_true',
            help='for policies: check it on the nodes of the configured '
            'Ironic as well',
        )

    def take_action(self, parsed_args: argparse.Namespace) -> base.Table:
        from ironic_ownership_plugin_kit import runner, time_limit

        self._fleet = self._nodes(parsed_args)
        # The limit of a law may be short: imports take what the machine needs.
        limit = max(parsed_args.time_limit or 0.0, runner.TIME_LIMIT)
        try:
            with time_limit.limited(limit, 'loading the installed plugins'):
                chosen = _chosen(parsed_args.name, parsed_args.group)
        except time_limit.TimeLimitError as exc:
            raise exceptions.OwnershipError(
                str(exc), hint='Repair or uninstall that package'
            ) from exc
        check_input.check(parsed_args.options, chosen)
        check_input.check(parsed_args.peer_values, chosen, per_member=True)
        rows = [
            (plugin, finding)
            for plugin in chosen
            for finding in self._findings(plugin, parsed_args)
        ]
        if not all(finding.passed for _, finding in rows):
            self.exit_code = errors.ExitCode.ERROR
        return self.table(_COLUMNS, rows)

    def _nodes(self, parsed_args: argparse.Namespace) -> Sequence[model.Node]:
        """Return the nodes of the deployment, as far as asked for.

        :raises OwnershipError: if they cannot be read.
        """
        if parsed_args.nodes is not None:
            return check_input.nodes_of(parsed_args.nodes)
        if parsed_args.from_ironic:
            # Law 4: with a shard key set, nodes are never listed without it.
            return self.wiring.ironic.scan(self.wiring.scope)
        return ()

    def _findings(
        self, plugin: plugins.Plugin, parsed_args: argparse.Namespace
    ) -> Iterator[runner.Finding]:
        from ironic_ownership_plugin_kit.runner import Finding
        from ironic_ownership_plugin_kit.time_limit import TimeLimitError

        law, target = 'it can be loaded', plugin.target
        try:
            if target is None:
                raise plugin.error or AssertionError
            law = 'its options are given'
            settings = check_input.settings(plugin, parsed_args.options)
            peer_values = check_input.peer_values(
                plugin, parsed_args.peer_values
            )
        except exceptions.OwnershipError as exc:
            yield Finding(law, 'fail', str(exc))
            return
        for source in getattr(target, 'sources', ()):
            settings[source.name], error = check_input.snapshot_of(
                source, settings
            )
            law = f'its source {source.name!r} can be read'
            yield Finding(law, 'fail' if error else 'pass', error)
        try:
            yield from self._laws(plugin, settings, peer_values, parsed_args)
        except (exceptions.MembershipError, TimeLimitError) as exc:
            yield Finding('its store can be used', 'fail', str(exc))
        except Exception as exc:  # noqa: BLE001 - a stranger's code
            text = texts.described(exc)
            yield Finding('it can be built', 'fail', text)

    def _laws(
        self,
        plugin: plugins.Plugin,
        settings: Mapping[str, model.Value],
        peer_values: Mapping[str, Sequence[model.Value]],
        parsed_args: argparse.Namespace,
    ) -> Iterator[runner.Finding]:
        from ironic_ownership_plugin_kit import runner

        def heard(law: str) -> None:
            self.app.stderr.write(f'{plugin.name}: {law}\n')
            self.app.stderr.flush()

        target, limit = plugin.target, parsed_args.time_limit
        assert target is not None
        if issubclass(target, backend.MembershipBackend):
            return runner.check_backend(
                target,
                settings,
                parsed_args.member_ttl,
                heard,
                time_limit=limit,
            )
        return runner.check_policy(
            target,
            settings,
            heard,
            fleet=self._fleet,
            peer_values=peer_values,
            time_limit=limit or runner.TIME_LIMIT,
        )


def _seconds(text: str) -> float:
    seconds = float(text)
    if not 0.5 <= seconds <= 3600:
        raise argparse.ArgumentTypeError(f'{text} is not from 0.5 to 3600')
    return seconds


def _chosen(name: str, group: str | None) -> Sequence[plugins.Plugin]:
    """Return the plugins of that name, or of that distribution.

    :raises UsageError: if there is none, or it is not clear which.
    """
    groups = [_GROUPS[group]] if group else [*_GROUPS.values()]
    known = [(one, found) for one in groups for found in plugins.names(one)]
    named = [pair for pair in known if pair[1] == name]
    if len(named) > 1:
        raise errors.UsageError(
            f'{name!r} is a policy and a backend',
            hint='Say which by --group policies or --group backends',
        )
    brought = [pair for pair in known if _dist(name) in _bringers(*pair)]
    if not named and not brought:
        raise errors.UsageError(
            f'no plugin and no distribution with plugins is called {name!r}',
            hint=errors.nearest(name, {found for _, found in known}),
        )
    # Others are not imported: one of them may hang.
    return [plugins.find(*pair) for pair in named or brought]


def _dist(name: str) -> str:
    """Return the name of a distribution as pip compares it."""
    return name.lower().replace('_', '-').replace('.', '-')


def _bringers(group: str, name: str) -> set[str]:
    whole = (plugins.distribution(group, name) or '').split(' and ')
    return {_dist(one.rpartition(' ')[0]) for one in whole}
