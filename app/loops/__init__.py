"""Users' own loops that the page watches: their client, the server's endpoint, and their runs on the page."""
