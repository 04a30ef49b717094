"""Clients of other services: the only package that imports keystoneauth1."""
