"""The view of a sweep: solvers compared over data sets and λ."""
