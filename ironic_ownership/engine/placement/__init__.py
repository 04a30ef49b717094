"""Reports of nodes to Placement, in the background of the refreshes."""
