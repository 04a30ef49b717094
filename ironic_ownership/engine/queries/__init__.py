"""What operators ask: lists, one node, and why it is where it is."""
