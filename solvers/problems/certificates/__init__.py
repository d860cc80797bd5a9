"""Distances from the optimum: violations of the optimality conditions, proved gaps."""
