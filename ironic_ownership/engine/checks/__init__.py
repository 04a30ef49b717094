"""Checks of the deployment, and of nodes before they are enrolled."""
