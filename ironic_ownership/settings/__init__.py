"""Validated configuration: one frozen snapshot, or the list of its faults.

oslo.config checks options one by one; their combinations are checked here,
all of them, so that an operator sees every fault in one go.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import socket
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from oslo_config import cfg

from ironic_ownership import plugins, program
from ironic_ownership.conf import configuration
from ironic_ownership.conf import core as core_conf
from ironic_ownership.contracts import exceptions, model, policy
from ironic_ownership.contracts.backend import Capability, MembershipBackend
from ironic_ownership.contracts.records import Budget
from ironic_ownership.engine.decision import policy_set
from ironic_ownership.settings import policy_building as building

if TYPE_CHECKING:
    from ironic_ownership.engine.host.tuning import Snapshots, Tuning

_ORDER = ('shard_key', 'conductor_group', 'peer_list', 'reservation')


@dataclasses.dataclass(frozen=True)
class Settings:
    """The settings of a host process; intervals are in seconds.

    :param tuning: the part that may change while the process runs.
    :param remarks: settings that are accepted and may be a mistake.
    """

    host: str
    member_ttl: float
    fence_margin: float
    tuning: Tuning
    remarks: tuple[str, ...]


def read(conf: cfg.ConfigOpts, *, serves: bool = True) -> Settings:
    """Read and validate the whole configuration.

    :param serves: whether the service runs here. A command may run on
        another machine, whose host name is not that of a service.
    :raises ConfigurationError: listing every fault found.
    """
    faults: list[str] = []
    core = _core_values(conf, faults)
    host = _host(core['host'], faults)
    policies = _policies(
        conf, policy_names(conf), host if serves else None, faults
    )
    try:
        backend, _ = configuration.backend(conf, core['backend'])
    except exceptions.ConfigurationError as exc:
        faults.extend(exc.faults)
    _check_intervals(core, faults)
    too_large = _advertised(policies).size_fault
    if too_large:
        faults.append(f'[ownership] policies: {too_large}')
    if faults:
        raise exceptions.ConfigurationError(faults)
    process = model.ProcessInfo(
        socket.gethostname(),
        os.getpid(),
        program.number(),
        core['member_ttl'],
        configuration.common_options(conf),
    )
    return Settings(
        host=host,
        member_ttl=core['member_ttl'],
        fence_margin=core['fence_margin'],
        tuning=_tuning(core, policies, process, host if serves else None, {}),
        remarks=tuple(_remarks(core, host, backend, policies.values())),
    )


def policy_names(conf: cfg.ConfigOpts) -> Sequence[str]:
    """Return the policies that the configuration names, valid or not.

    Without ``[ownership] policies`` those whose options are set.
    """
    named = conf.ownership.policies
    if named is not None:
        return [name.strip() for name in named]
    configured = (
        name
        for name in plugins.names(plugins.POLICIES)
        if any(_options_in_use(conf, name))
    )
    return implied(configured) or ('all',)


def implied(configured: Iterable[str]) -> tuple[str, ...]:
    """Return the policies whose options are set, in one order everywhere.

    Services with the same policies in another order would not be peers.
    """
    names = {*configured}
    first = [name for name in _ORDER if name in names]
    return (*first, *sorted(names - {*_ORDER}))


def _tuning(
    core: Mapping[str, Any],
    policies: Mapping[str, building.ValidatedPolicy],
    process: model.ProcessInfo,
    host: str | None,
    snapshots: Snapshots,
) -> Tuning:
    # Not for the commands that read no more than the backend's options.
    from ironic_ownership.engine.deletion.missing_nodes import Limits
    from ironic_ownership.engine.host import tuning

    def rebuild(others: Snapshots) -> Tuning:
        again = {
            name: building.with_snapshots(name, tried, host, others)
            for name, tried in policies.items()
        }
        too_large = _advertised(again).size_fault
        if too_large:
            raise exceptions.ConfigurationError([too_large])
        return _tuning(core, again, process, host, others)

    watch = core['watch_interval']
    if watch is None:
        watch = min(max(core['member_ttl'] / 20, 0.1), 1.0)
    return tuning.Tuning(
        advertised=_advertised(policies, process),
        policies=policy_set.PolicySet.of(
            (tried.policy for tried in policies.values()), plugins.origin
        ),
        intervals=tuning.Intervals(
            heartbeat=core['heartbeat_interval'],
            watch=watch,
            refresh=core['refresh_interval'],
            restart_grace=core['restart_grace'],
        ),
        limits=Limits(
            core['recheck_interval'],
            core['mass_loss_share'],
            core['mass_loss_minimum'],
            core['trust_credential'],
        ),
        handover_limit=core['handover_limit'],
        budget=Budget(core['handover_rate'], core['handover_share']),
        recovery_delay=core['recovery_delay'],
        full_refresh_interval=core['full_refresh_interval'],
        sources=tuple(
            tuning.PolicySource(
                name,
                plugins.named(plugins.POLICIES, name),
                source,
                tried.given,
            )
            for name, tried in policies.items()
            for source in tried.policy.sources
        ),
        snapshots=snapshots,
        rebuild=rebuild,
    )


def _advertised(
    policies: Mapping[str, building.ValidatedPolicy],
    process: model.ProcessInfo | None = None,
) -> model.MemberSettings:
    return model.MemberSettings(
        tuple(
            model.PolicySettings.of(name, tried.options)
            for name, tried in policies.items()
        ),
        contract_version=max(
            (one.policy.contract_version for one in policies.values()),
            default=1,
        ),
        values=tuple(
            model.PolicySettings.of(name, tried.values)
            for name, tried in policies.items()
            if tried.values
        ),
        process=process,
    )


def _remarks(
    core: Mapping[str, Any],
    host: str,
    backend: type[MembershipBackend],
    policies: Iterable[building.ValidatedPolicy],
) -> Iterable[str]:
    if Capability.SHARED not in backend.capabilities:
        yield (
            f'[ownership] backend = {core["backend"]}: services of other '
            'machines do not see each other, and take each other for dead. '
            'Set it to db, unless this is a test'
        )
    if core['host'].strip() != host:
        yield (
            f'[DEFAULT] host = {core["host"]}: host names are '
            f'case-insensitive, this service is {host}'
        )
    for tried in policies:
        yield from tried.remarks


def _core_values(conf: cfg.ConfigOpts, faults: list[str]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for name, opts in core_conf.OPTS.items():
        group = conf if name == 'DEFAULT' else conf[name]
        for opt in opts:
            value = opt.default
            try:
                value = _waitable(group[opt.name])
            except (ValueError, cfg.Error) as exc:
                faults.append(
                    configuration.unreadable(
                        name, opt.name, exc, secret=opt.secret
                    )
                )
            # Used where the database is opened; here only validated.
            if name != 'database':
                values[opt.name] = value
    return values


def _waitable(value: Any) -> Any:
    # No thread can wait that long, and nan is no bound at all.
    if isinstance(value, float) and not value <= threading.TIMEOUT_MAX:
        raise ValueError(f'{value} is not a number, or too large')
    return value


def _host(configured: str, faults: list[str]) -> str:
    host = model.canonical_host(configured)
    if not host:
        faults.append(
            '[DEFAULT] host is empty: name this service, or remove the line'
        )
    elif (
        len(host) > 255
        or not host.isprintable()
        or {' ', '/'} & {*host}
        # No path of the HTTP service can name these.
        or host in ('.', '..')
    ):
        faults.append(
            f'[DEFAULT] host = {configured!r}: at most 255 printable '
            'characters, without spaces and "/", and not "." or ".."'
        )
    return host


def _policies(
    conf: cfg.ConfigOpts,
    names: Sequence[str],
    host: str | None,
    faults: list[str],
) -> dict[str, building.ValidatedPolicy]:
    """Build the policies; check them for the host that runs them, if any."""
    selected: dict[str, building.ValidatedPolicy] = {}
    if not names:
        faults.append(
            '[ownership] policies is empty: add "policies = all", or remove '
            'the line'
        )
    for name in sorted({n for n in names if names.count(n) > 1}):
        faults.append(f'[ownership] policies names {name!r} more than once')
    faults.extend(_not_selected(conf, names))
    for name in dict.fromkeys(names):
        try:
            target = plugins.policies([name])[name]
            _register_clients(conf, target)
            configuration.register(conf, name, target)
            values = configuration.values(conf, name, target)
            nothing = dict.fromkeys(s.name for s in target.sources)
            selected[name] = building.built(
                name, target, values, host, nothing
            )
        except exceptions.ConfigurationError as exc:
            faults.extend(exc.faults)
        except exceptions.OwnershipError as exc:
            faults.append(str(exc))
    assigners = [
        name
        for name, tried in selected.items()
        if isinstance(tried.policy, policy.AssignerPolicy)
    ]
    if len(assigners) > 1:
        faults.append(
            '[ownership] policies names more than one assigner: '
            f'{", ".join(assigners)}: keep one of them'
        )
    return selected


def _register_clients(
    conf: cfg.ConfigOpts, target: type[policy.Policy]
) -> None:
    """Let a collision with an option of a client be a fault of the plugin.

    The clients register theirs on first use, and would be at fault.
    """
    own = target.__module__.startswith(f'{__name__.partition(".")[0]}.')
    if own or not any(option.group for option in target.options):
        return
    from ironic_ownership.clients import options

    options.register_opts(conf)


def _not_selected(
    conf: cfg.ConfigOpts, selected: Sequence[str]
) -> Iterator[str]:
    """Yield the fault of each option whose policy is not selected."""
    for name in plugins.names(plugins.POLICIES):
        if name in selected:
            continue
        for group, option in _options_in_use(conf, name):
            yield (
                f'[{group}] {option} is set, but its policy is not '
                f'selected: add {name!r} to [ownership] policies, or '
                'remove that line'
            )


def _options_in_use(
    conf: cfg.ConfigOpts, name: str
) -> Iterator[tuple[str, str]]:
    """Yield group and name of each option of a policy that is set.

    Policies of other packages are not imported for this: their options are
    recognized by their group.
    """
    group = f'policy_{name}'
    if plugins.is_own(plugins.POLICIES, name):
        target = plugins.policies([name])[name]
        configuration.register(conf, name, target)
        for option in target.options:
            group = configuration.group_of(name, target, option)
            with contextlib.suppress(ValueError, cfg.Error):
                value = configuration.frozen(conf[group][option.name])
                if value == option.default:
                    continue
            yield group, option.name  # also if it cannot be read
    elif group in conf.list_all_sections():
        from ironic_ownership.clients.options import written

        yield from ((group, option) for option in sorted(written(conf)[group]))


def _check_intervals(core: Mapping[str, Any], faults: list[str]) -> None:
    beat, ttl = core['heartbeat_interval'], core['member_ttl']
    margin = core['fence_margin']
    if ttl < 3 * beat:
        faults.append(
            f'[membership] member_ttl = {ttl:g} is less than three times '
            f'heartbeat_interval = {beat:g}: set it to {3 * beat:g} or more'
        )
    elif margin >= ttl - beat:
        faults.append(
            f'[membership] fence_margin = {margin:g} leaves no time to act: '
            f'set it to less than {ttl - beat:g} (member_ttl - '
            'heartbeat_interval)'
        )
