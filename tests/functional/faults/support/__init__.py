"""Processes, stores and the law checker that the fault tests share."""
