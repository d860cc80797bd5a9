"""The view of how weights move, and of the clusters that they move in."""
