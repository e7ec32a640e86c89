"""Figures of reports, each a plain plotly figure, and how they look."""
