"""One loader a module: functions of a Request that return a Content."""
