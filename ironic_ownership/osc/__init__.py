"""The same commands as ``openstack baremetal ownership ...``.

Runs the commands of ``cli`` as they are. It imports no part of
OpenStackClient, which finds it by entry points.
"""
