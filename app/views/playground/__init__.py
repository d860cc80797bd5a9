"""The view of solvers on functions of two variables."""
