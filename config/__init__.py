"""Composition root: settings, URLs, middleware and processes. Nobody imports it."""
