"""What Placement is told of nodes, beside the refreshes."""
