"""The view of a sweep: solvers over data sets and λ."""
