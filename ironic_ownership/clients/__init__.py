"""The clients of other OpenStack services; only here is openstacksdk imported.

They turn what a service answers into the values of the contracts, and every
way in which it can fail into one of the contracts' errors.
"""
