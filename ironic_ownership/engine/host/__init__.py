"""The work of a running service: refresh after refresh, and take-overs."""
