"""The data matrix, its products with weights and scores, and the working set."""
