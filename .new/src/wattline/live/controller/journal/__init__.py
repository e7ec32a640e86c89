"""What a live run leaves behind: its log of facts, checkpoints, sealed journals, and the way back from them."""
