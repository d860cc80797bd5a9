"""Losses: functions of the scores, one file a family."""
