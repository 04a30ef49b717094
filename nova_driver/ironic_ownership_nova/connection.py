"""Connection to Ironic that asks the guard before each write.

Everything that Nova's driver does to a node passes here, so no operation can
bypass the guard, nor can a step of a long operation: a process that was frozen
in the middle of a deployment does not go on with it. Each request carries the
epoch of its permission, for the middleware in Ironic: the process may be
frozen after the guard has answered.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import threading
from collections.abc import Callable, Iterator
from typing import Any

from oslo_log import log

from ironic_ownership.embedding import Permission, exceptions

LOG = log.getLogger(__name__)

HEADER = 'X-Ironic-Ownership'
"""In the answer by which Ironic's middleware refuses a request."""

_READ_METHODS = frozenset(('GET', 'HEAD'))
_READ_PREFIXES = ('get', 'find_')
_READS = frozenset(
    (
        *('nodes', 'ports', 'port_groups', 'volume_targets'),
        *('volume_connectors', 'validate_node', 'head'),
    )
)


@dataclasses.dataclass
class Operation:
    """One operation of Nova on an instance, in one thread.

    :param refusal: the error that Nova expects of this operation.
    :param node: of the instance; ``None`` if it has none.
    :param instance_uuid: as for :meth:`EmbeddedHost.guard`.
    """

    name: str
    refusal: type[Exception]
    node: str | None = None
    instance_uuid: str | None = None
    permissions: dict[str, Permission] = dataclasses.field(
        default_factory=dict
    )


class ActionGuard:
    """Permits or refuses each write, in the operation of the thread.

    Threading: any thread.

    :param permit: as :meth:`EmbeddedHost.guard`, without patience.
    :param default: the error outside of all operations.
    """

    def __init__(
        self, permit: Callable[..., Permission], default: type[Exception]
    ) -> None:
        self._permit = permit
        self._outside = functools.partial(Operation, 'a request', default)
        self._thread = threading.local()

    @contextlib.contextmanager
    def operation(self, operation: Operation) -> Iterator[None]:
        """Run one operation in this thread; one inside of it is part of it."""
        if self._current is not None:
            yield
            return
        self._thread.operation = operation
        try:
            yield
        finally:
            self._thread.operation = None

    @contextlib.contextmanager
    def writing(self, call: str, node: str | None) -> Iterator[None]:
        """Permit the requests of one call in this thread, and sign them.

        :param call: for the log.
        :param node: its uuid; that of the operation by default.
        :raises Exception: the refusal of the operation, if this service may
            not act on the node at this moment, by the guard or by Ironic.
        """
        write = self._current or self._outside(), call, node
        self._require(*write)
        self._thread.write = write
        try:
            yield
        except Exception as exc:
            # Nova takes a 409 for a VIF that is attached already, and releases
            # the addresses of an instance after any other error of a deletion.
            answer = getattr(exc, 'response', None)
            if HEADER not in getattr(answer, 'headers', ()):
                raise
            raise write[0].refusal(f'Ironic refuses it: {exc}') from exc
        finally:
            self._thread.write = None

    def sign(self, request: Any) -> Any:
        """Add the header for Ironic's middleware to a request.

        Called by the library requests for each attempt to send it.

        :raises Exception: the refusal of the operation, if the permission has
            ended meanwhile; also for a change in a call that counts as a
            read: no request bypasses the guard.
        """
        if request.method in _READ_METHODS:
            return request
        write = getattr(self._thread, 'write', None)
        if write is None:
            operation = self._current or self._outside()
            raise operation.refusal(
                f'{request.method} {request.path_url}: no permission was '
                'requested for it'
            )
        # A repetition comes after a pause, in which the permission may end.
        permission = self._require(*write)
        headers = permission.headers(request.method, request.url)
        request.headers.update(headers)
        return request

    def _require(
        self, operation: Operation, call: str, node: str | None
    ) -> Permission:
        uuid = node or operation.node
        try:
            if uuid is None:
                raise exceptions.OwnershipError(
                    f'{call}: the node is not known'
                )
            return self._confirm(operation, uuid)
        except exceptions.OwnershipError as exc:
            LOG.warning(
                '%s on the node %s is refused: %s', operation.name, uuid, exc
            )
            raise operation.refusal(str(exc)) from exc

    @property
    def _current(self) -> Operation | None:
        return getattr(self._thread, 'operation', None)

    def _confirm(self, operation: Operation, uuid: str) -> Permission:
        held = operation.permissions.get(uuid)
        if held is None:
            held = operation.permissions[uuid] = self._permit(
                uuid, instance_uuid=operation.instance_uuid
            )
        elif not held.is_valid:
            held.confirm()
        return held


class GuardedConnection:
    """The client of Ironic that Nova's driver uses, with the guard.

    :param adapter: ``baremetal`` of openstacksdk.
    """

    def __init__(self, adapter: Any, guard: ActionGuard) -> None:
        self._adapter = adapter
        self._guard = guard
        # The methods of openstacksdk all send their requests by this one.
        if not isinstance(adapter.request, functools.partial):
            adapter.request = functools.partial(
                adapter.request, requests_auth=guard.sign
            )

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._adapter, name)
        if (
            # A method that is not known to read counts as a write.
            name in _READS
            or name.startswith(_READ_PREFIXES)
            or not callable(found)
        ):
            return found
        return functools.partial(self._write, name, found)

    def _write(
        self, name: str, method: Callable[..., Any], *args: Any, **kwargs: Any
    ) -> Any:
        with self._guard.writing(name, _node_of(name, args, kwargs)):
            return method(*args, **kwargs)


def _node_of(
    name: str, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> str | None:
    """Return the uuid of the node that a call names, if it names one."""
    for key in ('node', 'node_id'):
        if key in kwargs:
            return _uuid(kwargs[key])
    if '_node' in name and args:
        return _uuid(args[0])
    return None


def _uuid(node: Any) -> str:
    return node if isinstance(node, str) else str(node.id)
