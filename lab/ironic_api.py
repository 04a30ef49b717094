"""The API of every Ironic of the lab, and requests to it."""

from __future__ import annotations

import abc
import pathlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from lab import checkout, preloaded, process, service, venvs

if TYPE_CHECKING:
    from openstack import connection as sdk

REQUIREMENTS = ('ironic==39.0.0', 'PyMySQL>=1.1.0')
MICROVERSION = '1.82'
_IMPORTS = pathlib.Path(__file__).with_name('ironic_imports.py')

CONFIGURATION = """\
[DEFAULT]
auth_strategy = noauth
my_ip = 127.0.0.1
enabled_bios_interfaces = fake,no-bios
enabled_console_interfaces = fake,no-console
enabled_firmware_interfaces = fake,no-firmware
enabled_inspect_interfaces = fake,no-inspect
enabled_management_interfaces = fake,noop
enabled_network_interfaces = noop
enabled_power_interfaces = fake
enabled_raid_interfaces = fake,no-raid
enabled_rescue_interfaces = fake,no-rescue
enabled_storage_interfaces = noop
enabled_vendor_interfaces = fake,no-vendor
"""
"""The common configuration: no authentication, and fake hardware."""

Middleware = Mapping[str, object] | None
"""Options of the middleware of this checkout; without them it is not there."""


def environment(middleware: Middleware = None) -> pathlib.Path:
    """Return the virtual environment of Ironic."""
    if middleware is None:
        return venvs.ensure('ironic', REQUIREMENTS)
    venv = venvs.ensure('ironic-middleware', REQUIREMENTS)
    return checkout.install(venv, 'ironic_middleware')


def program(
    venv: pathlib.Path, module: str, words: Sequence[str], log: pathlib.Path
) -> process.Process:
    """Return a process of Ironic, which is not started.

    It is a fork of one that has done all imports, which take longer than the
    rest of a start: see ``preloaded``.

    :param venv: see :func:`environment`.
    :param module: of its program, in ``ironic.command``.
    :param words: its arguments.
    """
    return preloaded.Preloaded(
        preloaded.shared(venv / 'bin' / 'python', _IMPORTS),
        f'ironic.command.{module}:main',
        [f'ironic-{module}', *words],
        log,
    )


def middleware_text(middleware: Middleware) -> str:
    """Return the part of the configuration that loads the middleware."""
    if middleware is None:
        return ''
    values = (f'{name} = {value}' for name, value in middleware.items())
    return '\n'.join(
        ('[api]', 'middleware = ownership', '[ownership]', *values, '')
    )


class IronicAPI(service.Service, abc.ABC):
    """The API of an Ironic."""

    title = 'Ironic'
    _connection: sdk.Connection | None = None

    def connection(self) -> sdk.Connection:
        """Return a connection of openstacksdk to this Ironic."""
        import openstack

        return openstack.connect(
            load_yaml_config=False,
            load_envvars=False,
            auth_type='none',
            auth={'endpoint': self.endpoint},
        )

    def adapter(self) -> Any:
        """Return an adapter for raw requests, kept for the next call."""
        if self._connection is None:
            self._connection = self.connection()
        return self._connection.baremetal

    def request(
        self, method: str, path: str, *, json: Any = None
    ) -> dict[str, Any]:
        """Send one request.

        :param path: the path below ``/v1``.
        :returns: the JSON of the answer; empty if there was none.
        :raises LabError: with Ironic's own text, if it refuses.
        """
        answer = self.adapter().request(
            path,
            method,
            json=json,
            microversion=MICROVERSION,
            raise_exc=False,
            retriable_status_codes=(409, 503),
            status_code_retries=5,
            connect_retries=1,
        )
        if not answer.ok:
            raise process.LabError(
                f'Ironic refused {method} {path}: '
                f'{answer.status_code} {answer.text}'
            )
        return dict(answer.json()) if answer.content else {}
