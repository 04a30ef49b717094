"""``ironic_ownership.web.wsgi:application``, for any WSGI server.

The configuration is found in the usual places, or by the variables
``IRONIC_OWNERSHIP_CONFIG_FILES`` and ``IRONIC_OWNERSHIP_CONFIG_DIRS``.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from oslo_config import cfg

from ironic_ownership import program
from ironic_ownership.contracts import exceptions
from ironic_ownership.web import deploy

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIApplication


def _application() -> WSGIApplication:
    try:
        conf = deploy.configure(deploy.arguments(os.environ))
        return deploy.build(conf)
    except (exceptions.OwnershipError, cfg.Error) as exc:
        program.report(deploy.PROG, exc)
        raise


application = _application()
