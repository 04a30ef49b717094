"""The resources of the HTTP service, one module for each kind of thing."""
