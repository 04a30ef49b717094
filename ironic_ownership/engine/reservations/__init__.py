"""Choose a node for an instance, reserve it, and give it back."""
