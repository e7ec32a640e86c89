"""Estimates: what a job will take and draw, sharpened by what was seen."""
