"""The view of solutions over a range of λ."""
