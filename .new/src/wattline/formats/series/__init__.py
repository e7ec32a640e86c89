"""Series over time from files: regulation signals, prices, power limits, bids."""
