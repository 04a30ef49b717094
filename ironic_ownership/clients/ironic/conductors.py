"""Reads the conductors of Ironic, page by page.

A conductor that died stays on the list, so it contains every conductor that
the deployment ever had. An unreadable one is dropped and logged: it must not
hide the others.
"""

from __future__ import annotations

from collections.abc import Sequence

from oslo_log import log

from ironic_ownership.clients.ironic import pagination
from ironic_ownership.clients.ironic.api import IronicAPI
from ironic_ownership.contracts import model

LOG = log.getLogger(__name__)

_FIELDS = ('fields', 'hostname,conductor_group,alive,drivers')


def read_all(api: IronicAPI, page_size: int) -> Sequence[model.Conductor]:
    """List all conductors, dead ones as well.

    :raises IronicError: if the server does not list them in full.
    """
    found: dict[str, model.Conductor] = {}
    for page in pagination.pages(
        api,
        'conductors',
        [_FIELDS],
        key='hostname',
        page_size=page_size,
    ):
        for conductor in filter(None, map(_read, page)):
            found[conductor.hostname] = conductor
    return list(found.values())


def _read(data: object) -> model.Conductor | None:
    if not isinstance(data, dict) or not isinstance(data.get('hostname'), str):
        LOG.warning(
            'Ironic lists a conductor without a host name, which is '
            'ignored: %.200r',
            data,
        )
        return None
    drivers = data.get('drivers')
    return model.Conductor(
        hostname=data['hostname'],
        conductor_group=str(data.get('conductor_group') or '').lower(),
        drivers=frozenset(
            driver
            for driver in (drivers if isinstance(drivers, list) else ())
            if isinstance(driver, str)
        ),
        alive=data.get('alive') is True,
    )
