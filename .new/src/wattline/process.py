"""What is known of this process as a whole."""

from __future__ import annotations

own = False
"""Whether it is that of one command: then it may be ended where nothing else helps. A notebook never is."""
