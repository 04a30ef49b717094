"""Web pages for ironic-ownership, over its HTTP service alone."""
