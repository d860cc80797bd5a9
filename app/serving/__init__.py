"""The server: access, lessons, ticks, shutdown, memory."""
