"""Whether the configuration uses Placement, and the client if it does.

Placement is optional, and a gate of deletions hangs on it: that gate must not
be lost by a slip of the pen. So any line in ``[placement]`` turns it on, and
what looks like that group and is none is an error.
"""

from __future__ import annotations

import difflib
import pathlib
from collections.abc import Iterable
from typing import Any

from oslo_config import cfg

from ironic_ownership.clients import session
from ironic_ownership.clients.placement import client
from ironic_ownership.contracts import exceptions

GROUP = 'placement'
SERVICE_TYPE = 'placement'
OPTS = (
    cfg.BoolOpt(
        'enabled',
        help='Whether this deployment uses Placement. If it does, the record '
        'of a node is only deleted when nobody holds an allocation of its '
        'resource provider, which is deleted with it. Not set: it does if '
        'any other option of this group is set. Say false where there is no '
        'Placement, and true to make sure that the group cannot be forgotten.',
    ),
    cfg.BoolOpt(
        'report_inventory',
        default=True,
        help='Whether this service reports its nodes to Placement: a '
        'provider for each, with its resource class, its traits, and all of '
        'it reserved while nothing can be scheduled to it; or, with the '
        'policy "reservation", one provider with the sums. Say false where '
        'nova-compute serves the same nodes: it reports them itself. All '
        'services of a deployment should say the same.',
    ),
    cfg.FloatOpt(
        'compare_interval',
        default=0,
        min=0,
        help='Seconds after which each provider is compared with what was '
        'reported, because somebody else may have changed or deleted it, or '
        'restored Placement from a copy. The nodes take turns, at two '
        'requests each, and nothing is written unless it differs. Zero: '
        'never, so that a refresh without a change asks Placement nothing. '
        'Set it for a while after such a thing happened, or to 86400 for '
        'once a day. Not used with the policy "reservation".',
    ),
)
_HINT = (
    'Add auth_type = password with auth_url, username, password, '
    'user_domain_name, project_name and project_domain_name; or say '
    'enabled = false if there is no Placement'
)


def list_opts() -> list[tuple[str, list[cfg.Opt]]]:
    """Return the options by group, for the sample and the validator."""
    return [(GROUP, [*OPTS, *session.list_opts(SERVICE_TYPE)])]


def is_configured(conf: cfg.ConfigOpts) -> bool:
    """Tell whether this deployment uses Placement.

    :raises ConfigurationError: if a group's name is nearly the right one, or
        a value has not the type of its option.
    """
    conf.register_opts(OPTS, group=GROUP)
    session.register_opts(conf, GROUP, service_type=SERVICE_TYPE)
    try:
        enabled: bool | None = conf[GROUP].enabled
    except (ValueError, cfg.Error) as exc:
        raise exceptions.ConfigurationError([f'[{GROUP}] {exc}']) from exc
    if enabled is None:
        written = _written(conf)
        enabled = bool(written.get(GROUP)) or _is_named(conf)
        if not enabled:
            _check_groups(written)
    return enabled


def reports(conf: cfg.ConfigOpts) -> bool:
    """Tell whether inventories are reported to Placement.

    :raises ConfigurationError: as :func:`is_configured`.
    """
    return is_configured(conf) and bool(_value(conf, 'report_inventory'))


def compare_interval(conf: cfg.ConfigOpts) -> float:
    """Return the seconds between two comparisons of one provider.

    :raises ConfigurationError: as :func:`is_configured`.
    """
    is_configured(conf)
    return float(_value(conf, 'compare_interval'))


def _value(conf: cfg.ConfigOpts, name: str) -> Any:
    try:
        return conf[GROUP][name]
    except (ValueError, cfg.Error) as exc:
        raise exceptions.ConfigurationError([f'[{GROUP}] {exc}']) from exc


def open_placement(
    conf: cfg.ConfigOpts, request_id: str | None = None
) -> client.PlacementClient | None:
    """Build the client from ``[placement]``; nothing is sent yet.

    :param request_id: "req-" and a uuid, sent with its requests.
    :returns: ``None`` if this deployment does not use Placement.
    :raises ConfigurationError: if a value has not the type of its option,
        or the group is misspelt.
    :raises PlacementError: naming the line that is missing or wrong.
    """
    if not is_configured(conf):
        return None
    try:
        return client.PlacementClient(
            session.connect(conf, GROUP, service_type=SERVICE_TYPE),
            request_id,
        )
    except exceptions.IronicError as exc:
        raise exceptions.PlacementError(str(exc.args[0]), hint=_HINT) from exc
    except cfg.Error as exc:
        raise exceptions.ConfigurationError([f'[{GROUP}] {exc}']) from exc


def _written(conf: cfg.ConfigOpts) -> dict[str, dict[str, list[str]]]:
    """Return all that the files say, by group, whether it means anything."""
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
    """Tell whether the credentials come from somewhere else than a file."""
    return any(conf[GROUP][name] for name in ('auth_type', 'auth_section'))


def _check_groups(written: Iterable[str]) -> None:
    """Refuse a group that is meant to be ours and is not.

    :raises ConfigurationError: naming it.
    """
    for group in written:
        near = difflib.get_close_matches(group.lower(), [GROUP], cutoff=0.8)
        if near and group != GROUP:
            raise exceptions.ConfigurationError(
                [f'[{group}] is unknown: write [{GROUP}], or remove it']
            )
