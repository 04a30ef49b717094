"""Everything that is not as it should be, and what helps."""
