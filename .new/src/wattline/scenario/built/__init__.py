"""What sections are built of beyond the facts of lower rooms: accounts, watts, jobs held against tables and kinds."""
