"""Options of Ironic and Placement, and the clients that they configure.

Placement is optional, and a gate of deletions depends on it: that gate must
not be lost by a typing error. So any line in ``[placement]`` turns it on, and
a misspelt name of the group is an error.
"""

from __future__ import annotations

import difflib
import pathlib
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from oslo_config import cfg

from ironic_ownership.clients import transport
from ironic_ownership.clients.ironic import api
from ironic_ownership.contracts import exceptions

if TYPE_CHECKING:
    from ironic_ownership.clients.ironic.allocations import IronicAllocations
    from ironic_ownership.clients.ironic.client import IronicClient
    from ironic_ownership.clients.placement.client import PlacementClient

IRONIC, PLACEMENT = 'ironic', 'placement'

_IRONIC = (
    cfg.IntOpt(
        'page_size',
        default=api.PAGE_SIZE,
        min=1,
        max=api.PAGE_SIZE,
        help='Number of nodes in one answer of Ironic. A larger page means '
        'fewer requests, a smaller one shorter requests. Ironic may take '
        'timeout, in seconds, until it begins to answer, and between two '
        'parts of the answer. It gives no more than its own [api] max_limit.',
    ),
)
_PLACEMENT = (
    cfg.BoolOpt(
        'enabled',
        help='Whether this deployment uses Placement. If it does, the record '
        'of a node is only deleted when no consumer has an allocation of its '
        'resource provider, which is deleted with it. Not set: it does if '
        'any other option of this group is set. Set it to false where there '
        'is no Placement, and to true so that a missing group is an error.',
    ),
    cfg.BoolOpt(
        'report_inventory',
        default=False,
        help='Whether this service reports its nodes to Placement: a '
        'provider for each, with its resource class, its traits, and all of '
        'it reserved while nothing can be scheduled to it; or, with the '
        'policy "reservation", one provider with the sums. It replaces what '
        'others have written there, so set it to true only where nova-compute '
        'does not serve the same nodes: it reports them itself. '
        'With [nova] cell_schema it is false. '
        'All services of a deployment should have the same value.',
    ),
    cfg.BoolOpt(
        'disable_stopped',
        default=True,
        help='Whether nodes are not offered to the scheduler while their '
        'service is dead, disabled or forced down: a living service sets the '
        'trait COMPUTE_STATUS_DISABLED on their resource providers, and their '
        'owner removes it. With [nova] cell_schema it is false, because the '
        'scheduler of Nova follows its own services. '
        'All services of a deployment should have the same value.',
    ),
    cfg.FloatOpt(
        'compare_interval',
        default=0,
        min=0,
        help='Seconds after which each provider is compared with the last '
        'report, because another client may have changed or deleted it, or '
        'Placement may have been restored from a copy. The comparisons are '
        'spread over the interval, at two requests each, and nothing is '
        'written unless it differs. Zero: never, so that a refresh without a '
        'change sends no request to Placement. Set it for a while after such '
        'an event, or to 86400 for once a day. Not used with the policy '
        '"reservation".',
    ),
)
OPTS: dict[str, tuple[cfg.Opt, ...]] = {
    IRONIC: _IRONIC,
    PLACEMENT: _PLACEMENT,
}
"""Options by group; others are those of keystoneauth."""

_SAMPLE_PLUGINS = ('password', 'v3applicationcredential', 'none')
_NOT_USED = frozenset(
    (
        *('version', 'min-version', 'max-version'),
        *('connect-retries', 'connect-retry-delay'),
        *('status-code-retries', 'status-code-retry-delay'),
        'retriable-status-codes',
    )
)
_HINT = (
    'Add auth_type = password with auth_url, username, password, '
    'user_domain_name, project_name and project_domain_name; or set '
    'enabled = false if there is no Placement'
)


def list_opts() -> list[tuple[str, list[cfg.Opt]]]:
    """Return the options by group, for the sample and the validator."""
    return [
        (group, [*opts, *_of_service(group)]) for group, opts in OPTS.items()
    ]


def every_opt(group: str) -> list[cfg.Opt]:
    """Return the options of one service, of common kinds of credentials."""
    from keystoneauth1 import loading

    return [
        *_of_service(group),
        *loading.get_auth_common_conf_options(),
        *transport.own_opts(group),
    ]


def _of_service(group: str) -> list[cfg.Opt]:
    from keystoneauth1 import loading

    opts = {
        opt.dest: opt
        for opt in (
            *loading.get_auth_common_conf_options(),
            *transport.own_opts(group),
        )
        if opt.name not in _NOT_USED
    }
    for plugin in _SAMPLE_PLUGINS:
        for opt in loading.get_auth_plugin_conf_options(plugin):
            opts.setdefault(opt.dest, opt)
    return list(opts.values())


def register_opts(conf: cfg.ConfigOpts, *groups: str) -> None:
    """Register the options of the clients, after the files were read.

    :param groups: by default all.
    """
    for group in groups or OPTS:
        conf.register_opts(OPTS[group], group=group)
        transport.register_opts(conf, group)


def open_ironic(conf: cfg.ConfigOpts, **how: Any) -> IronicClient:
    """Build the client from ``[ironic]``; nothing is sent yet.

    :param how: as for :class:`IronicClient`.
    :raises ConfigurationError: if a value has not the type of its option.
    :raises IronicError: naming the line that is missing or wrong.
    """
    from ironic_ownership.clients.ironic.client import IronicClient

    register_opts(conf, IRONIC)
    return IronicClient(
        transport.connect(conf, IRONIC),
        page_size=transport.value(conf, IRONIC, 'page_size'),
        **how,
    )


def open_allocations(
    conf: cfg.ConfigOpts, *, request_id: str | None = None
) -> IronicAllocations:
    """Build the client from ``[ironic]``; errors as above."""
    from ironic_ownership.clients.ironic.allocations import IronicAllocations

    adapter = transport.connect(conf, IRONIC)
    return IronicAllocations(adapter, request_id=request_id)


def is_configured(conf: cfg.ConfigOpts) -> bool:
    """Tell whether this deployment uses Placement.

    :raises ConfigurationError: for a misspelt group, or the type of a value.
    """
    register_opts(conf, PLACEMENT)
    enabled: bool | None = transport.value(conf, PLACEMENT, 'enabled')
    if enabled is None:
        lines = written(conf)
        enabled = bool(lines.get(PLACEMENT)) or _is_named(conf)
        if not enabled:
            _check_groups(lines)
    return enabled


def value(conf: cfg.ConfigOpts, name: str) -> Any:
    """Return the value of one option; ``None`` where Placement is not used.

    :raises ConfigurationError: for a misspelt group, or the type of a value.
    """
    return (
        transport.value(conf, PLACEMENT, name) if is_configured(conf) else None
    )


def open_placement(
    conf: cfg.ConfigOpts, request_id: str | None = None
) -> PlacementClient | None:
    """Build the client from ``[placement]``; nothing is sent yet.

    :returns: ``None`` if this deployment does not use Placement.
    :raises ConfigurationError: for a misspelt group, or the type of a value.
    :raises PlacementError: naming the line that is missing or wrong.
    """
    from ironic_ownership.clients.placement.client import PlacementClient

    if not is_configured(conf):
        return None
    try:
        adapter = transport.connect(conf, PLACEMENT)
        return PlacementClient(adapter, request_id)
    except exceptions.IronicError as exc:
        raise exceptions.PlacementError(str(exc.args[0]), hint=_HINT) from exc


def written(conf: cfg.ConfigOpts) -> dict[str, dict[str, list[str]]]:
    """Return what the configuration files say, known or not, by group.

    :raises ConfigurationError: if a file can't be read.
    """
    paths = [pathlib.Path(path) for path in conf.config_file or ()]
    for directory in conf.config_dir or ():
        paths.extend(sorted(pathlib.Path(directory).glob('*.conf')))
    found: dict[str, dict[str, list[str]]] = {}
    for path in paths:
        try:
            cfg.ConfigParser(str(path), found).parse()
        except (OSError, ValueError, cfg.Error) as exc:
            raise exceptions.ConfigurationError([f'{path}: {exc}']) from exc
    return found


def _is_named(conf: cfg.ConfigOpts) -> bool:
    return any(conf[PLACEMENT][name] for name in ('auth_type', 'auth_section'))


def _check_groups(written: Iterable[str]) -> None:
    for group in written:
        near = difflib.get_close_matches(
            group.lower(), [PLACEMENT], cutoff=0.8
        )
        if near and group != PLACEMENT:
            raise exceptions.ConfigurationError(
                [f'[{group}] is unknown: write [{PLACEMENT}], or remove it']
            )
