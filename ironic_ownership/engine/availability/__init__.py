"""Availability of nodes for the scheduler."""
