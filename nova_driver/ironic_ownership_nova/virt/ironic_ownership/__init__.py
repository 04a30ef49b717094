"""Module below ``nova.virt``, where Nova looks for its drivers.

Nova puts ``nova.virt.`` in front of what its option ``compute_driver`` names:
``compute_driver = ironic_ownership.OwnershipDriver``.
"""

from ironic_ownership_nova.driver import OwnershipDriver

__all__ = ('OwnershipDriver',)
