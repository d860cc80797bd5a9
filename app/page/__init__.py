"""The page: one visitor's session, and the panels it is made of."""
