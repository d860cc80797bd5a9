"""Numba kernels and their cache, helper threads, BLAS: what computes, and knows nothing of solvers."""
