"""The page: a visitor's session, and the panels of the page."""
