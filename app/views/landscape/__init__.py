"""The view of the objective on a plane through the space of weights."""
