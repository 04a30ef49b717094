"""The options of the project: names, help and defaults.

Options only: ``conf.configuration`` reads their values.
"""

from __future__ import annotations

from oslo_config import cfg

from ironic_ownership.conf import api, core


def list_opts() -> list[tuple[str, list[cfg.Opt]]]:
    """Return the core options by group, for the sample and the validator.

    Includes those of the HTTP service, which registers them by itself: their
    changes do not concern a host.
    """
    groups = {**core.OPTS, api.GROUP: api.OPTS}
    return [(group, list(opts)) for group, opts in groups.items()]
