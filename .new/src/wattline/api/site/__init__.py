"""The file of a controller made a controller: what it plans with, and every part of it opened."""
