"""Counts and draws: metrics, tables, figures and pages, all made from journals alone."""
