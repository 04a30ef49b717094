"""A membership backend for ironic-ownership in PostgreSQL."""
