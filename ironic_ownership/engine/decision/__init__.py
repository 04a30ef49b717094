"""Owners of nodes: pure functions of members, services and records."""
