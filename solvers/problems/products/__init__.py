"""Products of the data with weights and residuals, by columns and by rows."""
