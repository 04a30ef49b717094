"""Clients of other services: the only package that imports openstacksdk.

They convert answers to the values of the contracts, and every failure to one
of the contracts' errors.
"""
