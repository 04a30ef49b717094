"""A policy for ironic-ownership: nodes by the place where they stand."""
