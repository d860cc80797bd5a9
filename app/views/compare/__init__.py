"""Views that compare runs: by numbers, as a race, with past runs, or in a report."""
