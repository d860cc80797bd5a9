"""Methods whose steps use single samples or small batches."""
