"""Files whose right content is known, changed in known ways or damaged, given to every reader of Wattline."""
