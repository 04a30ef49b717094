"""Read-only queries: node and service lists, single nodes, explanations."""
