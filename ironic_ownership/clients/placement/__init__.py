"""Placement: resource providers and their inventories."""
