"""Operations of Nova on instances, and the errors that refuse them.

Each error is the one after which Nova does the right thing: a build goes to
another node, a deletion keeps the addresses of the instance, everything else
is reported to the user.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any

from nova import exception
from nova.virt.ironic import driver as ironic_driver

from ironic_ownership.embedding import NO_INSTANCE
from ironic_ownership_nova.connection import Operation

REFUSALS: Mapping[str, type[Exception]] = {
    'prepare_for_spawn': exception.ComputeResourcesUnavailable,
    'prepare_networks_before_block_device_mapping': (
        exception.ComputeResourcesUnavailable
    ),
    'spawn': exception.ComputeResourcesUnavailable,
    'failed_spawn_cleanup': exception.InstanceDeployFailure,
    'clean_networks_preparation': exception.VirtualInterfaceUnplugException,
    'destroy': exception.InstancePowerOffFailure,
    'reboot': exception.InstanceRebootFailure,
    'power_off': exception.InstancePowerOffFailure,
    'power_on': exception.InstancePowerOnFailure,
    'trigger_crash_dump': exception.NovaException,
    'rebuild': exception.InstanceDeployFailure,
    'rescue': exception.InstanceRescueFailure,
    'unrescue': exception.InstanceUnRescueFailure,
    'unplug_vifs': exception.VirtualInterfaceUnplugException,
    'attach_interface': exception.VirtualInterfacePlugException,
    'detach_interface': exception.VirtualInterfaceUnplugException,
    'attach_volume': exception.VolumeAttachFailed,
    'detach_volume': exception.VolumeDetachFailed,
    'get_vnc_console': exception.ConsoleNotAvailable,
    'get_serial_console': exception.ConsoleNotAvailable,
}
"""Operations that may act on a node."""

_BUILDING = {
    'prepare_for_spawn': NO_INSTANCE,
    'spawn': None,
    'failed_spawn_cleanup': None,
    'prepare_networks_before_block_device_mapping': None,
    'clean_networks_preparation': None,
    'unplug_vifs': None,
}
"""What the guard requires of the instance on the node in a build, when the
records may have the instance before, and in the clean-up of one that failed,
when the node may have been given back."""

QUIET = frozenset(('failed_spawn_cleanup',))
"""Operations whose errors would replace the one that they follow."""


def _guarded(name: str) -> Callable[..., Any]:
    """Return a method of Nova's driver as an operation of its thread.

    It calls the method of the next class, which may be a vendor's, and which
    has a parameter ``instance``.
    """

    @functools.wraps(getattr(ironic_driver.IronicDriver, name))
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        call = getattr(super(GuardedOperations, self), name)
        bound = inspect.signature(call).bind(*args, **kwargs)
        instance = bound.arguments['instance']
        operation = Operation(
            name,
            REFUSALS[name],
            instance.node,
            _BUILDING.get(name, instance.uuid),
        )
        with self.action_guard.operation(operation):
            try:
                return call(*args, **kwargs)
            except operation.refusal:
                if name not in QUIET:
                    raise
        return None

    return method


_Mixin: Any = object
"""Base of classes that stand before Nova's driver, or one derived from it."""


class GuardedOperations(_Mixin):
    """A driver with each operation of :data:`REFUSALS` guarded."""


for _name in REFUSALS:
    setattr(GuardedOperations, _name, _guarded(_name))
