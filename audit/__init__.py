"""PROVE it: who did what, on whose behalf, and what came of it."""
