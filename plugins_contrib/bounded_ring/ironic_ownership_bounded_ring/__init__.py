"""A policy for ironic-ownership: a hash ring with bounded loads."""
