"""Settings that every installation shares. What differs comes from the environment (config/env.py)."""

from pathlib import Path
from urllib.parse import urlsplit

from django.utils.csp import CSP

from config import env

BASE_DIR = Path(__file__).resolve().parent.parent.parent

SECRET_KEY = env.secret_file("CLEARANCE_SECRET_KEY_FILE")
BASE_URL = env.text("CLEARANCE_BASE_URL")
CREDENTIAL_KEY_FILE = env.text("CLEARANCE_CREDENTIAL_KEY_FILE")
TOKEN_KEYS_DIR = env.text("CLEARANCE_TOKEN_KEYS_DIR")
REFERENCE_DIR = env.text("CLEARANCE_REFERENCE_DIR", str(BASE_DIR / "var" / "reference"))
REDIS_URL = env.text("REDIS_URL")
# Proxies of ours in front of the web server; so many entries of X-Forwarded-For are believed, from the right.
TRUSTED_PROXIES = env.whole_number("CLEARANCE_TRUSTED_PROXIES", 0)
# What may be approved at one go in the inbox, in major units by currency; `*` is every other currency.
BULK_SUMS = env.bulk_sums("CLEARANCE_BULK_SUMS", "*=1000")
MAIL = env.mail("CLEARANCE_EMAIL_URL", sender=f"Clearance <clearance@{urlsplit(BASE_URL).hostname or 'localhost'}>")
MAILERS = {"default": MAIL.mailer}

DEBUG = False
ALLOWED_HOSTS = ["localhost", "127.0.0.1", "[::1]"]
ROOT_URLCONF = "config.urls"
ASGI_APPLICATION = "config.asgi.application"
APPEND_SLASH = True

INSTALLED_APPS = [
    "servestatic.runserver_nostatic",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django.contrib.postgres",
    "channels",
    "rest_framework",
    "drf_spectacular",
    "django_htmx",
    "audit",
    "access",
    "approvals",
    "runs",
    "config",
]

# Every one of these is async-capable: a sync-only middleware would hold a thread for each long-poll.
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "servestatic.middleware.ServeStaticMiddleware",
    "django.middleware.csp.ContentSecurityPolicyMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "config.middleware.ActorMiddleware",
    "config.middleware.RefusalMiddleware",
]

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": False,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.messages.context_processors.messages",
                "config.context.page",
            ],
        },
    },
]

# The application role owns nothing; `owner` is used by `manage.py prepare_database` alone (data rule 12).
DATABASE_POOL = env.whole_number("CLEARANCE_DATABASE_POOL", 16)
DATABASES = {
    "default": env.database("DATABASE_URL", pool_max=DATABASE_POOL),
    "owner": env.database("DATABASE_OWNER_URL", pool_max=None),
}
DATABASE_ROUTERS = ["config.routers.OwnerMigrates"]
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

CHANNEL_LAYERS = {
    "default": {
        "BACKEND": "channels_redis.pubsub.RedisPubSubChannelLayer",
        "CONFIG": {"hosts": [REDIS_URL], "prefix": "clearance"},
    },
}

CELERY = {
    "broker_url": REDIS_URL,
    "task_ignore_result": True,
    "task_acks_late": False,  # a message is only a hint; the database decides what is left to do
    "worker_prefetch_multiplier": 1,
    "worker_hijack_root_logger": False,
    "broker_connection_retry_on_startup": True,
    "broker_transport_options": {"socket_timeout": 2, "socket_connect_timeout": 2, "visibility_timeout": 3600},
    "worker_send_task_events": False,
    "task_default_queue": "clearance",
    "imports": ["runs.tasks"],
}

AUTH_USER_MODEL = "access.User"
PASSWORD_HASHERS = ["django.contrib.auth.hashers.Argon2PasswordHasher"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 12}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
LOGIN_URL = "sign-in"
LOGIN_REDIRECT_URL = "inbox"
LOGOUT_REDIRECT_URL = "sign-in"

SESSION_ENGINE = "django.contrib.sessions.backends.db"
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_AGE = 12 * 3600
CSRF_COOKIE_HTTPONLY = True
CSRF_COOKIE_SAMESITE = "Lax"
CSRF_FAILURE_VIEW = "config.errors.csrf_failure"
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
SECURE_CROSS_ORIGIN_OPENER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
# No inline style or script anywhere: htmx runs with includeIndicatorStyles and allowEval off.
SECURE_CSP = {
    "default-src": [CSP.NONE],
    "script-src": [CSP.SELF],
    "style-src": [CSP.SELF],
    "img-src": [CSP.SELF],
    "font-src": [CSP.SELF],
    "media-src": [CSP.SELF],
    "connect-src": [CSP.SELF],
    "form-action": [CSP.SELF],
    "frame-ancestors": [CSP.NONE],
    "base-uri": [CSP.NONE],
}

LANGUAGE_CODE = "en"
USE_I18N = False
USE_TZ = True
TIME_ZONE = "UTC"

STATIC_URL = "/static/"
STATICFILES_DIRS = [BASE_DIR / "static"]
STATIC_ROOT = BASE_DIR / "var" / "static"
# Made of files of ours by config/bundles.py, before they are collected.
BUNDLES_DIR = BASE_DIR / "var" / "bundles"
STATICFILES_FINDERS = [
    "django.contrib.staticfiles.finders.FileSystemFinder",
    "django.contrib.staticfiles.finders.AppDirectoriesFinder",
    "config.bundles.BundleFinder",
]
# Of a type that the server does not know: nosniff would keep browsers from playing it.
SERVESTATIC_MIMETYPES = {".wav": "audio/wav"}

# The JSON door caps bodies itself (1 MiB, data rule 13) and answers 413 in words; Django's cap lies above it, and
# is what a form may have (config/api/bodies.py, config/errors.py).
DATA_UPLOAD_MAX_MEMORY_SIZE = 2 * 1024 * 1024

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "config.api.authentication.TokenAuthentication",
        "config.api.authentication.PersonAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["config.api.authentication.HasActor"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["config.api.parsers.JsonDoorParser"],
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "EXCEPTION_HANDLER": "config.api.errors.to_response",
    "UNAUTHENTICATED_USER": None,
    "COERCE_DECIMAL_TO_STRING": True,
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Clearance",
    "DESCRIPTION": "Agents propose tool calls, people approve them, each effect happens once or is told as unknown.",
    "VERSION": "1",
    "SERVE_INCLUDE_SCHEMA": False,
    "SCHEMA_PATH_PREFIX": r"/api/v1",
    "COMPONENT_SPLIT_REQUEST": True,
    "ENUM_NAME_OVERRIDES": {
        "RunState": "runs.core.kinds.RunStatus",
        "CallState": "runs.core.kinds.CallState",
        "ProposalState": "approvals.api.shapes.STATES",
        "ProposalOutcome": "approvals.api.shapes.OUTCOMES",
        "EffectOutcome": ["none", "committed", "unknown"],
    },
}

# A worker that has not heard of a row for this long is told again by the sweep (seconds).
SWEEP_SECONDS = 1.0
# Hosts of webhooks whose addresses need not be public, and that may be spoken to without TLS: a receiver in the house.
WEBHOOK_HOSTS = frozenset(env.words("CLEARANCE_WEBHOOK_HOSTS"))
# Hosts of identity providers whose addresses need not be public: one in the house. It is spoken to by TLS all the same.
OIDC_HOSTS = frozenset(env.words("CLEARANCE_OIDC_HOSTS"))
# Whether a provider may be this very machine, and then without TLS: for trying it out.
OIDC_LOOPBACK = False
# From TERM to the end of a worker or a sweep, whatever its targets do: what is started is finished within it or looked
# up. Supervisors have to wait a little longer than this before they kill.
DRAIN_SECONDS = env.whole_number("CLEARANCE_DRAIN_SECONDS", 25)
# How long POST …/calls waits for a worker's verdict before it answers 202 `received` (seconds; issue point 7).
VERDICT_WAIT_SECONDS = 2.0

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"format": "%(asctime)s %(levelname)s %(name)s %(message)s"}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["stderr"], "level": "INFO"},
    "loggers": {
        **{name: {"level": "WARNING"} for name in ("httpx", "httpcore", "fido2")},
        "django.request": {"level": "ERROR"},
    },
}
