"""Losses: functions of the scores, one file per family."""
