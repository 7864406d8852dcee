"""`manage.py doctor`: what is wrong with an installation, in sentences, however little of it works.

Nothing here needs a configured Django: the settings themselves may be what is broken.
"""
