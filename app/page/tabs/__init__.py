"""What the page adds to the views on tabs."""
