"""The page's panels for views on tabs."""
