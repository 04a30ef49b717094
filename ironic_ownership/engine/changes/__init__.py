"""Changes by operators: gates, a proposal, its execution."""
