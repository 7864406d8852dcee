"""`make smoke` tells the truth: it passes when one refund happened, and fails when the payment server did two."""

import re
import subprocess
import sys

import psutil
import pytest

from tests.stack.support import ROOT, clean_environment, short_folder

pytestmark = pytest.mark.stack

# A payment server that performs each refund twice, as one that ignores keys does with a request sent twice.
DOUBLED = """
import http.client, sys
import config.stack.smoke as smoke

class Doubling(smoke.TimingProxy):
    def __init__(self, target_port):
        super().__init__(target_port)
        handler = self._server.RequestHandlerClass
        once = handler.do_POST
        def do_POST(request):
            if request.path == "/v1/refunds":
                length = int(request.headers["Content-Length"])
                body = request.rfile.peek(length)[:length]
                target = http.client.HTTPConnection("127.0.0.1", target_port())
                target.request("POST", request.path, body, dict(request.headers))
                target.getresponse().read()
            once(request)
        handler.do_POST = do_POST

smoke.TimingProxy = Doubling
sys.exit(smoke.main(["0"]))
"""


def smoke(*command: str) -> subprocess.CompletedProcess[str]:
    folder = short_folder()
    done = subprocess.run(
        [sys.executable, *command],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env=clean_environment(TMPDIR=str(folder)),
        check=False,
        timeout=280,
    )
    assert list(folder.iterdir()) == []
    folder.rmdir()
    left = [
        process
        for process in psutil.process_iter(["cmdline"])
        if str(folder) in " ".join(process.info["cmdline"] or [])
    ]
    assert left == []
    return done


def test_one_refund_goes_through_and_each_step_has_its_milliseconds() -> None:
    done = smoke("-m", "config.stack.smoke", "2")
    assert done.returncode == 0, done.stderr
    answers, one, medians = done.stdout.splitlines()
    steps = r"accepted → visible to the reviewer \d+ ms · decision → request at the payment server \d+ ms · "
    steps += r"decision → receipt on the page \d+ ms"
    assert re.fullmatch(r"the stack answers after \d+\.\d s", answers)
    assert re.fullmatch(rf"one refund, re_\w+, exactly once: {steps}", one)
    assert re.match(rf"medians of 2 warm refunds: {steps} \(", medians)


def test_a_doubled_refund_at_the_payment_server_is_a_failure() -> None:
    done = smoke("-c", DOUBLED)
    assert done.returncode == 1
    assert done.stderr.startswith("make smoke failed: The payment server holds [")
