from django.apps import AppConfig


class ConfigConfig(AppConfig):
    """Holds the management commands and template tags that belong to no one app; has no models."""

    name = "config"
    verbose_name = "Clearance"
