"""Problems whose rows are split over shards, here or on other machines."""
