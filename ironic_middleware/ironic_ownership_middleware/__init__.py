"""Middleware of Ironic's API that refuses requests of former owners."""
