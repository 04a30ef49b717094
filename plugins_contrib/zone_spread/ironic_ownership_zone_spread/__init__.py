"""A policy for ironic-ownership: nodes go to the zones of the services."""
