"""Methods that step on single samples or small batches."""
