"""The commands of ``ironic_ownership.cli``, as names of this module.

``service_list`` is the command "service list". There is no second list of
them but the entry points of the group ``openstack.baremetal_ownership.v1``,
which have to be static. OpenStackClient loads all of those at every start, so
a command's own module is imported only when the command is made.
"""

from __future__ import annotations

import argparse
import functools
import logging
from typing import TYPE_CHECKING, Any, ClassVar, cast

from cliff import command

from ironic_ownership import plugins
from ironic_ownership.osc import plugin

if TYPE_CHECKING:
    from importlib import metadata

    from ironic_ownership.api.operation_client import OperationClient
    from ironic_ownership.cli.deadline import Deadline
    from ironic_ownership.wiring import Wiring

COMMANDS = 'ironic_ownership.cli'
LOG = logging.getLogger(__name__)


class UnderOpenStack(command.Command):
    """The differences of one of our commands when ``openstack`` runs it."""

    program: ClassVar[str] = plugin.PROGRAM
    deadline: Deadline | None = None

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        # Before the client authenticates, which may take long.
        options = getattr(self.app, 'options', None)
        limit = getattr(options, 'ownership_timeout', None)
        if limit is not None:
            from ironic_ownership.cli import deadline

            self.deadline = deadline.Deadline(lambda: self.__dict__.get('api'))
            self.deadline.start(limit)

    @property
    def auth_required(self) -> bool:
        """Tell whether the client authenticates: for the HTTP service only.

        With the database the configuration has the credentials.
        """
        # A command of another package may know nothing of the HTTP service.
        uses_api: bool = getattr(self, 'uses_api', False)
        return uses_api and plugin.uses_http(self.app.options)

    @functools.cached_property
    def wiring(self) -> Wiring:
        """The objects behind the command, by the configuration."""
        from ironic_ownership import wiring
        from ironic_ownership.conf.configuration import new

        files = plugin.arguments(self.app.options)
        return wiring.Wiring(new(files, plugin.PROGRAM, logs=False))

    @functools.cached_property
    def api(self) -> OperationClient:
        """The client of operations, as the options choose it."""
        from ironic_ownership.api import operation_client
        from ironic_ownership.clients import ownership

        app: Any = self.app
        if plugin.uses_http(app.options):
            client = ownership.over_session(app.client_manager)
            return operation_client.RemoteClient(client)
        return operation_client.local(self.wiring)

    def run(self, parsed_args: argparse.Namespace) -> int:
        """Run the command; the exit codes are those of our own program."""
        from ironic_ownership.cli import errors
        from ironic_ownership.contracts.calls import interrupts_noted

        try:
            with interrupts_noted():
                return super().run(parsed_args)
        except (BrokenPipeError, KeyboardInterrupt):
            raise
        except Exception as exc:
            debug = self.app.options.debug
            LOG.error('%s', errors.line(exc), exc_info=exc if debug else None)
            return errors.exit_code(exc)
        finally:
            if self.deadline is not None:
                self.deadline.cancel()
            opened = self.__dict__.get('wiring')
            if opened is not None:
                opened.close()


class Later:
    """Stands for the class of a command until the command is made.

    :cvar entry_point: of the command.
    """

    entry_point: ClassVar[metadata.EntryPoint]

    def __new__(
        cls, app: Any, app_args: Any, cmd_name: str | None = None
    ) -> Any:
        """Import the command, and make it."""
        target = cls.entry_point.load()
        body = {'__doc__': target.__doc__, '__module__': target.__module__}
        made = type(target.__name__, (UnderOpenStack, target), body)
        return made(app, app_args, cmd_name)

    def __init__(
        self, app: Any, app_args: Any, cmd_name: str | None = None
    ) -> None:
        # Never called; the client looks here for what it may hand over.
        raise NotImplementedError


def name_of(words: str) -> str:
    """Return the name of a command in this module."""
    return words.replace(' ', '_').replace('-', '_')


def __getattr__(name: str) -> type[command.Command]:
    for entry_point in plugins.entry_points(COMMANDS):
        if name_of(entry_point.name) == name:
            body = {'entry_point': entry_point}
            return cast('type[command.Command]', type(name, (Later,), body))
    raise AttributeError(f'there is no command {name!r} in {COMMANDS}')
