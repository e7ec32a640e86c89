"""Synthetic workloads and signals: laws of arrival, size, power, and kinds of jobs found in a log."""
