"""Hours and days that are simulated under many bids: what they are made of, and what they came to."""
