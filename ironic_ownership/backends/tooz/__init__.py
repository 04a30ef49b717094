"""Membership through tooz: etcd, ZooKeeper, Redis, memcached and files.

``backend`` keeps the contract, ``session`` is one membership in the store,
``observer`` reads those of all; ``stores`` says which stores there are, and
each has a module of its own for what it does differently.
"""
