"""Ironic: nodes, conductors, and the two ways to allocate a node."""
