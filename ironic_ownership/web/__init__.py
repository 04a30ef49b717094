"""The HTTP service: the operations of ``api`` as resources in JSON.

Authenticates, authorizes, validates and routes requests. Only this package,
and the program that serves it, know an HTTP framework.
"""
