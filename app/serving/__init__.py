"""The server: access control, lessons, ticks, shutdown, memory."""
