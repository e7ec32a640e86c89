"""Policies of users: compiled or called in plain Python, checked at the edge, judged, and told what they did wrong."""
