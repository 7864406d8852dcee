from audit.models.entry import Entry, Owed

__all__ = ["Entry", "Owed"]
