"""Options of the middleware, in the group ``[ownership]`` of ironic.conf."""

from __future__ import annotations

from collections.abc import Sequence

from oslo_config import cfg

from ironic_ownership.contracts.request_header import SHORTEST_KEY

GROUP = 'ownership'

OPTS = (
    cfg.StrOpt(
        'connection',
        secret=True,
        help='URL of the database with the records of ironic-ownership, as in '
        '[database] connection of its services. A user that may read the '
        'tables compute_nodes and services is enough.',
    ),
    cfg.ListOpt(
        'shared_keys',
        secret=True,
        default=[],
        help='Keys with which services sign their requests, each of at least '
        f'{SHORTEST_KEY} characters without commas; [enforcement] shared_key '
        'of a service is one of them. Name the old and the new one while you '
        'replace it.',
    ),
    cfg.ListOpt(
        'require_for',
        default=[],
        help='Whose changing requests are refused without a header: '
        '"user:NAME" or "role:NAME" of Keystone; "user:NAME" with '
        '[DEFAULT] auth_strategy = http_basic; or "*" for all requests. '
        'Only requests for nodes and for what belongs to them count. '
        'Requests of others pass.',
    ),
    cfg.FloatOpt(
        'answer_timeout',
        default=2.0,
        min=0.1,
        help='Seconds for which a request waits for the records.',
    ),
    cfg.StrOpt(
        'without_records',
        default='refuse',
        choices=(
            ('refuse', 'a request with a header is answered with 503'),
            ('admit', 'one with a valid signature passes, with a warning'),
        ),
        help='What happens to requests with a header while the records do '
        'not answer. "admit" suspends the guarantee for that time.',
    ),
    cfg.FloatOpt(
        'signature_lifetime',
        default=60.0,
        min=1.0,
        help='Seconds by which the time of a signature may differ from the '
        'clock of this machine. The clocks of Ironic and of the services '
        'have to agree within it.',
    ),
)


def register_opts(conf: cfg.ConfigOpts) -> None:
    """Register the options in the configuration of Ironic."""
    conf.register_opts(OPTS, GROUP)


def list_opts() -> list[tuple[str, Sequence[cfg.Opt]]]:
    """List the options, for the generator of sample files."""
    return [(GROUP, OPTS)]
