"""The suite: like the demo, but without a pool (each test owns its database) and with a cheap password hash."""

from config import env
from config.settings.demo import *  # noqa: F403

DATABASES = {
    "default": env.database("DATABASE_URL", pool_max=None),
    "owner": env.database("DATABASE_OWNER_URL", pool_max=None),
}
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
