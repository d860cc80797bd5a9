"""Views that compare runs: in numbers, as a race, with runs of the past, as a report."""
