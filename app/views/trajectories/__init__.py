"""The view of weight trajectories and their clusters."""
