"""Membership through tooz: etcd, ZooKeeper and Redis.

``backend`` implements the contract, ``session`` is one membership in the
store, and reads those of all members. ``drivers`` finds the driver of a URL;
each driver has a module for its differences.
"""
