"""The fields of the state, a file a subject."""
