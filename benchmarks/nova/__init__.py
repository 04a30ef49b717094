"""Real nova-computes: Nova's own driver beside the one of this project."""
