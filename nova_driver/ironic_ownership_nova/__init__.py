"""Driver of nova-compute for nodes that ironic-ownership owns."""
