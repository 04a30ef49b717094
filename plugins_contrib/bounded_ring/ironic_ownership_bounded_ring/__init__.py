"""A policy for ironic-ownership: a hash ring on which nobody is overloaded."""
