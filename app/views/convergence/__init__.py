"""Views of how a run gets to the optimum: distance, rate, sparsity, steps, time."""
