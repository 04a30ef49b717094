"""The operations in JSON: what HTTP serves and the command line calls.

Each operation is described once: name, parameters, access rule, handler. The
HTTP service calls it for a request, the command line calls it in its own
process or at the HTTP service. No HTTP library is imported here.
"""
