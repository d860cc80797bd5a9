"""Files and folders that several processes share."""
