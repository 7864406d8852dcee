"""Orders for a staged process (tests/crashes/staged.py), and what the process table says of it."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Stage:
    """The folder in which one process is told at which step to stop or to die."""

    folder: Path

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)

    def arm(self, step: str, signal: str = "STOP", *, call: object = "", keep: bool = False) -> None:
        """The first thread that comes to `step` (of this call; `keep`: each) sends its own process the signal."""
        for told in self.folder.glob(f"{step}.*reached"):
            told.unlink()
        aside = self.folder / f"{step}.new"
        aside.write_text(json.dumps({"signal": signal, "call": str(call), "keep": keep}))
        aside.rename(self.folder / f"{step}.armed")

    def disarm(self, step: str) -> bool:
        """Take an order back; False if it was taken up already."""
        try:
            (self.folder / f"{step}.armed").unlink()
        except FileNotFoundError:
            return False
        return True

    def reached(self, step: str, pid: int | None = None) -> dict[str, Any] | None:
        """What the process said when it came to the step (`pid`: that one, to an order that was kept); None before."""
        try:
            return json.loads((self.folder / (f"{step}.{pid}.reached" if pid else f"{step}.reached")).read_text())
        except FileNotFoundError:
            return None


def state_of(pid: int) -> str:
    """The letter of the process table: R, S, T (stopped), Z …; "" when there is no such process."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return ""
