"""Faults of a Nova cell, found by reading alone and without our records."""
