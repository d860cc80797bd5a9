"""The view of the learned model."""
