"""Simulation: the whole product in virtual time, under one seed."""
