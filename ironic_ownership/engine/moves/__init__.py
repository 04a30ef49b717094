"""Move nodes from service to service: plan, carry out, verify, resume."""
