"""A launcher like `make up` in small: PostgreSQL, Valkey and one program that does nothing, under the supervisor.

    python -m tests.stack.launcher FOLDER

Prints one line of JSON when everything runs: {"name": pid}.
"""

import json
import sys
from pathlib import Path

from config.stack import process as tools
from config.stack.children import Child, Stopped, Supervisor, end_leftovers, ignore_signals, stop_on_signals
from config.stack.make_parent import watch_make
from config.stack.servers import start_postgres, start_valkey


def main(folder: Path) -> int:
    supervisor = Supervisor(folder / "children.json")
    stop_on_signals()
    make = watch_make()
    try:
        end_leftovers(supervisor.note)
        supervisor.add("PostgreSQL", start_postgres(folder / "postgres", durable=False), running=True)
        supervisor.add("Valkey", start_valkey(folder / "valkey"), running=True)
        nothing = "import time; time.sleep(600)"
        supervisor.add("the program", Child([sys.executable, "-c", nothing], folder / "program.log", {}, folder))
        print(json.dumps({kept.name: kept.server.process.pid for kept in supervisor.kept}), flush=True)
        supervisor.watch(make)
    except Stopped:
        return 0
    finally:
        ignore_signals()
        supervisor.stop_all()
        tools.kill_all()


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
