"""Which nodes can be scheduled to, and which are out of service."""
