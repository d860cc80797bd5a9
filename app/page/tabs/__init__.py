"""The page's part of the views on tabs."""
