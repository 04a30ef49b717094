"""Who owns which node: pure functions of members, services and records."""
