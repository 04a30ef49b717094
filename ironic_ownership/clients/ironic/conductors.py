"""The conductors of Ironic, page by page, as values. No judgement here.

A conductor that died stays on the list, so it is as long as the deployment
ever had conductors. One that cannot be read is dropped and named: it must
not hide the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from oslo_log import log

from ironic_ownership.clients.ironic.api import IronicAPI
from ironic_ownership.contracts import exceptions, model

LOG = log.getLogger(__name__)

SINCE = 49
"""Minor version that brought the list of conductors."""

_FIELDS = 'hostname,conductor_group,alive,drivers'


def read_all(
    api: IronicAPI, page_size: int, request_id: str | None
) -> Sequence[model.Conductor]:
    """List all conductors, dead ones as well.

    :param page_size: conductors asked for at once.
    :raises IronicTooOldError: if the server cannot list them.
    :raises IronicError: if it does not, or not in full.
    """
    _ = api.minor
    api.require(SINCE, 'list its conductors')
    found: dict[str, model.Conductor] = {}
    marker: str | None = None
    while True:
        page, more = _page(api, page_size, marker, request_id)
        for data in page:
            conductor = _read(data)
            if conductor is not None:
                found[conductor.hostname] = conductor
        if not more:
            return list(found.values())
        marker = _next(page, marker)


def _page(
    api: IronicAPI,
    page_size: int,
    marker: str | None,
    request_id: str | None,
) -> tuple[list[Any], bool]:
    params = [('fields', _FIELDS), ('limit', str(page_size))]
    if marker is not None:
        params.append(('marker', marker))
    body = api.get('/conductors', params, request_id=request_id)
    page = body.get('conductors')
    if not isinstance(page, list):
        raise exceptions.IronicError(
            'Ironic answered with something else than a list of conductors'
        )
    return page, bool(page) and 'next' in body


def _next(page: Sequence[Any], before: str | None) -> str:
    last = page[-1].get('hostname') if isinstance(page[-1], dict) else None
    if not isinstance(last, str) or last == before:
        raise exceptions.IronicError(
            'A page of conductors has no host name after which the next one '
            'could begin'
        )
    return last


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
