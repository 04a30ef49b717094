"""A membership backend for ironic-ownership: ZooKeeper through kazoo."""
