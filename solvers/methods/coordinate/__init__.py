"""Block and single coordinate descent, primal and dual."""
