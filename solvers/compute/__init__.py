"""Tools for computing that do not depend on solvers: Numba kernels, their cache, helper threads, BLAS."""
