"""Validated configuration: one frozen snapshot, or the list of its faults.

oslo.config checks options one by one; their combinations are checked here,
all of them, so that an operator sees every fault in one go.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from oslo_config import cfg

from ironic_ownership import plugins
from ironic_ownership.conf import core as core_conf
from ironic_ownership.conf import plugin as plugin_conf
from ironic_ownership.contracts import (
    exceptions,
    foreign_errors,
    model,
    policy,
)
from ironic_ownership.contracts.backend import MembershipBackend
from ironic_ownership.engine.decision import policy_set, policy_validation
from ironic_ownership.engine.deletion.missing_nodes import Limits
from ironic_ownership.engine.host.tuning import Intervals, Tuning

Backend = tuple[type[MembershipBackend], Mapping[str, model.Value]]


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
        conf, core['policies'], host if serves else None, faults
    )
    _backend(conf, core['backend'], faults)
    _check_intervals(core, faults)
    advertised = _advertised(policies)
    too_large = policy_validation.size_fault(advertised)
    if too_large:
        faults.append(f'[ownership] policies: {too_large}')
    if faults:
        raise exceptions.ConfigurationError(faults)
    return Settings(
        host=host,
        member_ttl=core['member_ttl'],
        fence_margin=core['fence_margin'],
        tuning=_tuning(core, policies),
        remarks=tuple(_remarks(core['host'], host, policies.values())),
    )


def _tuning(
    core: Mapping[str, Any],
    policies: Mapping[str, policy_validation.ValidatedPolicy],
) -> Tuning:
    watch = core['watch_interval']
    if watch is None:
        watch = min(max(core['member_ttl'] / 20, 0.1), 1.0)
    return Tuning(
        advertised=_advertised(policies),
        policies=policy_set.PolicySet.of(
            (tried.policy for tried in policies.values()), plugins.origin
        ),
        intervals=Intervals(
            heartbeat=core['heartbeat_interval'],
            watch=watch,
            refresh=core['refresh_interval'],
            restart_grace=core['restart_grace'],
        ),
        limits=Limits(
            core['recheck_interval'],
            core['mass_loss_share'],
            core['mass_loss_minimum'],
        ),
        handover_limit=core['handover_limit'],
        recovery_delay=core['recovery_delay'],
    )


def _advertised(
    policies: Mapping[str, policy_validation.ValidatedPolicy],
) -> model.MemberSettings:
    return model.MemberSettings(
        tuple(
            model.PolicySettings.of(name, tried.options)
            for name, tried in policies.items()
        )
    )


def _remarks(
    configured: str,
    host: str,
    policies: Iterable[policy_validation.ValidatedPolicy],
) -> Iterable[str]:
    if configured.strip() != host:
        yield (
            f'[DEFAULT] host = {configured}: case does not count, this '
            f'service is {host}'
        )
    for tried in policies:
        yield from tried.remarks


def backend(conf: cfg.ConfigOpts) -> Backend:
    """Read the membership backend and its options only.

    :returns: its class, and a value for each declared option.
    :raises ConfigurationError: if it can't be used.
    """
    faults: list[str] = []
    chosen = _backend(conf, conf.ownership.backend, faults)
    if chosen is None:
        raise exceptions.ConfigurationError(faults)
    return chosen


def _core_values(conf: cfg.ConfigOpts, faults: list[str]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for name, opts in core_conf.OPTS.items():
        group = conf if name == 'DEFAULT' else conf[name]
        for opt in opts:
            value = opt.default
            try:
                value = group[opt.name]
            except (ValueError, cfg.Error) as exc:
                faults.append(plugin_conf.unreadable(name, opt.name, exc))
            # Used where the database is opened; here only validated.
            if name != 'database':
                values[opt.name] = value
    return values


def _host(configured: str, faults: list[str]) -> str:
    host = model.canonical_host(configured)
    if not host:
        faults.append(
            '[DEFAULT] host is empty: name this service, or remove the line'
        )
    elif len(host) > 255 or not host.isprintable() or ' ' in host:
        faults.append(
            f'[DEFAULT] host = {configured!r}: at most 255 printable '
            'characters without spaces'
        )
    return host


def _policies(
    conf: cfg.ConfigOpts,
    configured: Sequence[str],
    host: str | None,
    faults: list[str],
) -> dict[str, policy_validation.ValidatedPolicy]:
    """Build the policies; check them for the host that runs them, if any."""
    names = [name.strip() for name in configured]
    selected: dict[str, policy_validation.ValidatedPolicy] = {}
    if not names:
        faults.append(
            '[ownership] policies is empty: add "policies = all", or remove '
            'the line'
        )
    for name in sorted({n for n in names if names.count(n) > 1}):
        faults.append(f'[ownership] policies names {name!r} more than once')
    _register_policies(conf, names, faults)
    for name in dict.fromkeys(names):
        try:
            target = plugins.policies([name])[name]
            values = plugin_conf.values(conf, name, target, faults)
            if values is not None:
                built = target(values)
                if host is not None:
                    built.check_host(host)
                secrets = {
                    option.name: values[option.name]
                    for option in target.options
                    if option.secret
                }
                selected[name] = policy_validation.validate(
                    built, plugins.origin, secrets
                )
        except exceptions.OwnershipError as exc:
            faults.append(str(exc))
        except BaseException as exc:
            if foreign_errors.is_interrupt(exc):
                raise
            faults.append(str(plugins.failed(plugins.POLICIES, name, exc)))
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


def _register_policies(
    conf: cfg.ConfigOpts, selected: Sequence[str], faults: list[str]
) -> None:
    for plugin in plugins.installed(plugins.POLICIES):
        if plugin.target is None:
            continue
        try:
            plugin_conf.register(conf, plugin.name, plugin.target)
        except cfg.DuplicateOptError as exc:
            faults.append(f'policy {plugin.name!r}: {exc}')
            continue
        if plugin.name not in selected:
            faults.extend(
                f'[{group}] {option} is set, but its policy is not '
                f'selected: add {plugin.name!r} to [ownership] policies, or '
                'remove that line'
                for group, option in plugin_conf.configured(
                    conf, plugin.name, plugin.target
                )
            )


def _backend(
    conf: cfg.ConfigOpts, configured: str, faults: list[str]
) -> Backend | None:
    name = configured.strip()
    try:
        target = plugins.backend_class(name)
        plugin_conf.register(conf, name, target)
    except exceptions.ConfigurationError as exc:
        faults.extend(exc.faults)
        return None
    except cfg.DuplicateOptError as exc:
        faults.append(f'backend {name!r}: {exc}')
        return None
    values = plugin_conf.values(conf, name, target, faults)
    return None if values is None else (target, values)


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
