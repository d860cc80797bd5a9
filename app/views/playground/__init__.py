"""The view of solvers on functions of two variables, seen from above."""
