"""Deletion of records, providers and services, behind gates."""
