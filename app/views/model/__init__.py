"""The view of the model that a run has learned."""
