"""The style sheets that every page needs, joined into one: a browser waits for one answer instead of six."""

import os
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.staticfiles.finders import BaseFinder
from django.core.files.storage import FileSystemStorage

BUNDLES: dict[str, tuple[str, ...]] = {
    "css/shared.css": ("tokens.css", "layout.css", "nav.css", "parts.css", "forms.css", "data.css"),
}
"""What is served by what it is made of, in the order of the cascade; all in the folder static/css."""


class BundleFinder(BaseFinder):
    """Finds the joined files, for the server of a working copy and for `collectstatic`. Each is compared with its parts
    at every look, so an edited part shows at the next one."""

    def find(self, path: str, find_all: bool = False, **_: Any) -> Any:
        """The file's address on the disk, in a list for `find_all`; an empty list if it is none of these."""
        if path not in BUNDLES:
            return []
        written = str(_written(path))
        return [written] if find_all else written

    def list(self, ignore_patterns: Iterable[str] | None) -> Iterator[Any]:
        """Each with the storage that it lies in."""
        for path in BUNDLES:
            _written(path)
            yield path, FileSystemStorage(location=settings.BUNDLES_DIR)


def _written(path: str) -> Path:
    folder = Path(settings.BASE_DIR) / "static" / Path(path).parent
    joined = b"\n".join((folder / name).read_bytes() for name in BUNDLES[path])
    target = Path(settings.BUNDLES_DIR) / path
    if not target.exists() or target.read_bytes() != joined:
        target.parent.mkdir(parents=True, exist_ok=True)
        # Beside it and renamed: another process may be reading.
        handle, aside = tempfile.mkstemp(dir=target.parent)
        with os.fdopen(handle, "wb") as file:
            file.write(joined)
        Path(aside).chmod(0o644)
        Path(aside).replace(target)
    return target
