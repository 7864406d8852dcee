"""MAKE it happen, and know how far it got: runs, events, dispatches and the tools they call."""
