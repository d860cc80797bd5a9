"""Other people's programs as solvers: who runs them, how they are watched, and one file for each of them."""
