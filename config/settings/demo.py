"""`make up`: loopback only, plain HTTP, static files straight from the sources."""

from config.settings.base import *  # noqa: F403

SERVESTATIC_USE_FINDERS = True
SERVESTATIC_AUTOREFRESH = True
# /styleguide/: every shape of the pages in every state.
STYLEGUIDE = True
