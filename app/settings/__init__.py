"""What a person chooses, as values: from the command line, from the page, from an address."""
