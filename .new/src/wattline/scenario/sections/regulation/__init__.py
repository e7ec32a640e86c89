"""[regulation] and its tables: the market, its signal, and the bid that a run follows."""
