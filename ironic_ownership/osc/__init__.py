"""The same commands as ``openstack baremetal ownership ...``.

An edge beside ``cli``, whose commands it runs as they are. It brings none of
its own, asks Keystone for nothing, and imports no part of OpenStackClient:
that one finds it by entry points.
"""
