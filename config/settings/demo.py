"""`make up`: loopback only, plain HTTP, static files straight from the sources."""

from config.settings.base import *  # noqa: F403
from config.settings.base import MIDDLEWARE

SERVESTATIC_USE_FINDERS = True
SERVESTATIC_AUTOREFRESH = True
# An installation compresses them once, when it collects them.
MIDDLEWARE = ["config.compressed.CompressedStatic", *MIDDLEWARE]
# /styleguide/: every shape of the pages in every state.
STYLEGUIDE = True
# A provider on this machine, without TLS, so that signing in through one can be tried.
OIDC_LOOPBACK = True
