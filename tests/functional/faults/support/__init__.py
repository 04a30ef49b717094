"""Processes, stores and the judge that the fault tests share."""
