"""A policy for ironic-ownership: nodes by their place."""
