"""Which database connection does what."""


class OwnerMigrates:
    """Tables are made by their owner and never by the application role (data rule 12)."""

    def allow_migrate(self, db: str, app_label: str, **hints: object) -> bool:
        return db == "owner"
