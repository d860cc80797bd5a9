"""Loaders of data sets, by origin or format: functions of a Request that return a Content."""
