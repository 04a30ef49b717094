"""Readers of a cell, of Ironic and of Placement, without our configuration.

Nothing here writes: the cell is read in transactions that the server keeps
from writing, the others by GET.
"""

from __future__ import annotations

import functools
import json
import os
import pathlib
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from oslo_config import cfg

from ironic_ownership.clients import options, ownership, transport
from ironic_ownership.clients.ironic import client
from ironic_ownership.clients.placement import api
from ironic_ownership.contracts import exceptions, model
from ironic_ownership.db import connection, dialects
from ironic_ownership_nova.cell import companion
from ironic_ownership_nova.cell.model import CellSnapshot
from ironic_ownership_nova.cell.port import SqlCell
from ironic_ownership_nova.doctor import examination

if TYPE_CHECKING:
    from keystoneauth1 import adapter as ksa_adapter

_FIRST = '1.0'
"""Microversion of Placement whose list of providers is the shortest."""
_POSTGRESQL_SCHEMA = 'public'
_HINT = (
    'Name a cloud of clouds.yaml with --cloud, or a file with [ironic] and '
    '[placement], such as a nova.conf, with --config-file'
)


def _open_cell(
    place: str, down_time: float
) -> tuple[str, Callable[[], CellSnapshot]]:
    """Return a cell, and its URL without the password; nothing connects yet.

    :param place: the URL of its database, or a nova.conf that has it.
    :param down_time: ``service_down_time``, unless the nova.conf has it.
    :raises ConfigurationError: if it does not lead to a database server.
    """
    if '://' not in place:
        place, down_time = _of_nova_conf(place, down_time)
    try:
        read = dialects.read_url(place)
        if read.get_backend_name() == dialects.SQLITE or not read.database:
            raise exceptions.RecordsError('--cell: a cell is on a server')
        # No statement writes, so only time-outs of reads matter.
        opened = connection.open_database(place, statement_timeout=120)
    except exceptions.RecordsError as exc:
        text = _of_cell(exc.args[0])
        raise exceptions.ConfigurationError(
            [text],
            hint='Such as --cell mysql+pymysql://user:password@host/nova, '
            'or the nova.conf of a nova-conductor',
        ) from exc
    is_mysql = read.get_backend_name() in dialects.MYSQL
    schema = read.database if is_mysql else _POSTGRESQL_SCHEMA
    port = SqlCell(opened, companion.Cell(schema, down_time))
    return opened.where, functools.partial(_read, port)


def _of_cell(text: str) -> str:
    return text.replace('[database] connection', '--cell')


def _read(port: SqlCell) -> CellSnapshot:
    try:
        return port.read()
    except exceptions.RecordsError as exc:
        raise type(exc)(exc.args[0], hint=_of_cell(exc.hint)) from exc


def _of_nova_conf(path: str, down_time: float) -> tuple[str, float]:
    conf = cfg.ConfigOpts()
    conf.register_opt(cfg.IntOpt('service_down_time', default=down_time))
    conf.register_opt(cfg.StrOpt('connection'), group='database')
    try:
        pathlib.Path(path).open().close()
        conf([], project='nova', default_config_files=[path])
        found = conf.database.connection
        seconds = conf.service_down_time
    except (cfg.Error, OSError, ValueError) as exc:
        why = ' '.join(str(getattr(exc, 'strerror', None) or exc).split())
        raise exceptions.ConfigurationError(
            [f'--cell {path}: {why}'],
            hint='Name a URL, or a nova.conf that this user may read',
        ) from exc
    if not found:
        raise exceptions.ConfigurationError(
            [f'--cell {path}: it has no [database] connection'],
            hint='nova-compute has none: take the nova.conf of a '
            'nova-conductor of the cell',
        )
    return str(found), seconds


def _of_cloud(name: str | None, service_type: str) -> ksa_adapter.Adapter:
    from keystoneauth1 import adapter
    from openstack import config

    try:
        clouds: Any = config.OpenStackConfig(app_name='ironic-ownership')
        region = clouds.get_one(cloud=name)
        session = region.get_session()
        session.timeout = session.timeout or transport.TIMEOUT
        return adapter.Adapter(
            session,
            service_type=service_type,
            interface=region.get_interface(service_type),
            region_name=region.get_region_name(service_type),
            endpoint_override=region.get_endpoint(service_type),
        )
    except ownership.cloud_errors() as exc:
        raise exceptions.ConfigurationError(
            [f'--cloud {name}: {" ".join(str(exc).split())}'],
            hint='Name a cloud of clouds.yaml',
        ) from exc


def nodes_of(
    adapter: ksa_adapter.Adapter, on_read: Callable[[int], object]
) -> dict[str, model.Node]:
    """Return all nodes of Ironic, with few fields, by uuid.

    :param on_read: receives the number of nodes after each page.
    :raises IronicError: if the list cannot be read as a whole.
    """
    found = client.IronicClient(adapter, on_read=on_read)
    return {
        node.uuid: node for node in found.scan(model.Scope(), summary=True)
    }


def providers_of(adapter: ksa_adapter.Adapter) -> dict[str, str]:
    """Return the name of each provider of Placement, by uuid.

    :raises PlacementError: if they cannot be read.
    """
    answer = api.PLACEMENT.send(
        adapter, 'GET', '/resource_providers', microversion=_FIRST
    )
    found: dict[str, str] = {}

    def keep(data: dict[str, Any]) -> object:
        # Placement has no pages, and the links are most of the list.
        if 'uuid' in data and 'name' in data:
            found[str(data['uuid'])] = str(data['name'])
            return None
        return data if 'resource_providers' in data else None

    try:
        whole = json.loads(answer.content, object_hook=keep)
    except (ValueError, RecursionError):
        whole = None
    if answer.status_code != 200 or not isinstance(whole, Mapping):
        raise exceptions.PlacementError(
            f'Placement answered {answer.status_code} and no list of '
            'providers',
            hint='The user needs the role admin, or reader of the system',
        )
    return found


def of_options(
    places: Sequence[str],
    conf: cfg.ConfigOpts,
    cloud: str | None,
    on_read: Callable[[int], object],
) -> examination.Sources:
    """Return the sources; each connects when it is read.

    :param places: of the cells: URLs of databases, or files as nova.conf.
    :param conf: its ``[ironic]`` and ``[placement]`` count without a cloud.
    :param cloud: of clouds.yaml; the variables OS_* name one, too.
    :param on_read: receives the number of nodes after each page of Ironic.
    :raises ConfigurationError: if a place does not lead to a database server.
    """
    down_time = conf.nova.service_down_time
    if cloud or 'OS_AUTH_URL' in os.environ or 'OS_ENDPOINT' in os.environ:
        ironic, placement = (
            functools.partial(_of_cloud, cloud, transport.SERVICE_TYPES[group])
            for group in (options.IRONIC, options.PLACEMENT)
        )
    else:
        ironic = functools.partial(_ironic_of, conf)
        placement = functools.partial(_placement_of, conf)
    return examination.Sources(
        dict(_open_cell(place, down_time) for place in places),
        lambda: nodes_of(ironic(), on_read),
        lambda: providers_of(placement()),
    )


def _ironic_of(conf: cfg.ConfigOpts) -> ksa_adapter.Adapter:
    try:
        return transport.connect(conf, options.IRONIC)
    except exceptions.IronicError as exc:
        raise exceptions.IronicError(str(exc.args[0]), hint=_HINT) from exc


def _placement_of(conf: cfg.ConfigOpts) -> ksa_adapter.Adapter:
    if not options.is_configured(conf):
        raise exceptions.PlacementError(
            'auth_type is not set in [placement]', hint=_HINT
        )
    return transport.connect(conf, options.PLACEMENT)
