"""A policy for ironic-ownership: a hash ring by the weight of each service."""
