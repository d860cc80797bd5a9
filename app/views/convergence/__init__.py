"""Views of convergence: distance to the optimum, rate, sparsity, steps, time."""
