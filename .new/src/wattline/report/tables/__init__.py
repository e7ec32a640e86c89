"""Tables of reports, for a terminal and for a page."""
