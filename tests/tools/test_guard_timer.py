"""The kernel timer, with real processes that are stopped and continued."""

import os
import signal
import threading
import time
from collections.abc import Callable

import pytest

from runs.tools import guard_timer

# A forked child here touches nothing that another thread of this process could hold.
pytestmark = pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")


class Child:
    """A forked process that runs ``body(write)``; ``write`` sends bytes to the parent."""

    def __init__(self, body: Callable[[Callable[[bytes], int]], None]) -> None:
        self._read, write = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(self._read)
            # pytest may have installed its own handler; a worker process has none.
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            code = 70
            try:
                body(lambda data: os.write(write, data))
                code = 0
            finally:
                os._exit(code)
        os.close(write)

    def wait_for(self, data: bytes) -> None:
        seen = b""
        while data not in seen:
            piece = os.read(self._read, 100)
            assert piece, f"the child ended after {seen!r}"
            seen += piece

    def stop(self) -> None:
        os.kill(self.pid, signal.SIGSTOP)
        os.waitpid(self.pid, os.WUNTRACED)

    def resume(self) -> None:
        os.kill(self.pid, signal.SIGCONT)

    def end(self) -> tuple[str, bytes]:
        """How it ended ("signal 14", "exit 0") and what it wrote after the last ``wait_for``."""
        _, status = os.waitpid(self.pid, 0)
        rest = b""
        while piece := os.read(self._read, 100):
            rest += piece
        os.close(self._read)
        how = f"signal {os.WTERMSIG(status)}" if os.WIFSIGNALED(status) else f"exit {os.WEXITSTATUS(status)}"
        return how, rest


KILLED_BY_TIMER = f"signal {int(signal.SIGALRM)}"


def in_thread(target: Callable[[], None]) -> threading.Thread:
    thread = threading.Thread(target=target)
    thread.start()
    return thread


def test_a_sender_stopped_past_its_deadline_ends_by_the_signal_before_the_write() -> None:
    def sender(write: Callable[[bytes], int]) -> None:
        def send() -> None:
            guard_timer.arm(time.monotonic() + 0.4)
            write(b"armed")
            time.sleep(0.2)  # the gap between the last check and the write
            write(b"SENT")

        in_thread(send).join()

    # One after the other: each must be stopped within its gap, however slow the machine is.
    children = []
    for _ in range(12):
        child = Child(sender)
        children.append(child)
        child.wait_for(b"armed")
        child.stop()
    time.sleep(0.6)
    for child in children:
        child.resume()
    assert {child.end() for child in children} == {(KILLED_BY_TIMER, b"")}


def test_a_sender_continued_before_its_deadline_sends() -> None:
    def sender(write: Callable[[bytes], int]) -> None:
        with guard_timer.guarded(time.monotonic() + 5):
            write(b"armed")
            time.sleep(0.1)
            write(b"SENT")

    child = Child(sender)
    child.wait_for(b"armed")
    child.stop()
    time.sleep(0.2)
    child.resume()
    assert child.end() == ("exit 0", b"SENT")


def test_with_several_sends_the_timer_stands_at_the_earliest_whatever_the_order_of_arming() -> None:
    for delays in ([0.3, 5.0, 9.0], [9.0, 5.0, 0.3], [5.0, 0.3, 9.0]):

        def sender(write: Callable[[bytes], int], delays: list[float] = delays) -> None:
            barrier = threading.Barrier(len(delays) + 1)

            def send(delay: float) -> None:
                guard_timer.arm(time.monotonic() + delay)
                barrier.wait()
                time.sleep(0.15)
                write(b"SENT")

            threads = []
            for delay in delays:
                threads.append(in_thread(lambda d=delay: send(d)))
                time.sleep(0.01)
            barrier.wait()
            write(b"armed")
            for thread in threads:
                thread.join()

        child = Child(sender)
        child.wait_for(b"armed")
        child.stop()
        time.sleep(0.5)
        child.resume()
        assert child.end() == (KILLED_BY_TIMER, b"")


def test_disarming_the_earliest_send_leaves_the_timer_at_the_next() -> None:
    def sender(write: Callable[[bytes], int]) -> None:
        first = guard_timer.arm(time.monotonic() + 0.2)
        guard_timer.arm(time.monotonic() + 0.6)
        guard_timer.disarm(first)
        time.sleep(0.4)
        write(b"past the first")
        time.sleep(2)
        write(b"past the second")

    child = Child(sender)
    assert child.end() == (KILLED_BY_TIMER, b"past the first")


def test_disarming_one_send_does_not_take_another_ones_deadline_away_even_when_it_is_disarmed_twice() -> None:
    def sender(write: Callable[[bytes], int]) -> None:
        late = guard_timer.arm(time.monotonic() + 9)
        guard_timer.arm(time.monotonic() + 0.2)
        guard_timer.disarm(late)
        guard_timer.disarm(late)
        time.sleep(2)
        write(b"alive")

    assert Child(sender).end() == (KILLED_BY_TIMER, b"")


def test_a_disarmed_process_lives_past_every_deadline() -> None:
    def sender(write: Callable[[bytes], int]) -> None:
        tokens = [guard_timer.arm(time.monotonic() + 0.1) for _ in range(5)]
        for token in tokens:
            guard_timer.disarm(token)
        time.sleep(0.3)
        write(b"alive")

    assert Child(sender).end() == ("exit 0", b"alive")


def test_the_timer_is_taken_off_when_the_guarded_work_raises() -> None:
    def sender(write: Callable[[bytes], int]) -> None:
        try:
            with guard_timer.guarded(time.monotonic() + 0.1):
                raise ValueError
        except ValueError:
            time.sleep(0.3)
            write(b"alive")

    assert Child(sender).end() == ("exit 0", b"alive")


def test_arming_with_a_deadline_that_has_passed_is_refused_and_arms_nothing() -> None:
    def sender(write: Callable[[bytes], int]) -> None:
        for deadline in (time.monotonic(), time.monotonic() - 100, float("nan"), float("inf")):
            try:
                guard_timer.arm(deadline)
            except guard_timer.GuardTimerError:
                write(b"refused ")
        time.sleep(0.1)
        write(b"alive")

    assert Child(sender).end() == ("exit 0", b"refused " * 4 + b"alive")


@pytest.mark.parametrize("spoil", ["handler", "ignored", "blocked"])
def test_a_process_whose_alarm_would_not_end_it_may_not_send(spoil: str) -> None:
    def sender(write: Callable[[bytes], int]) -> None:
        if spoil == "handler":
            signal.signal(signal.SIGALRM, lambda *_: None)
        elif spoil == "ignored":
            signal.signal(signal.SIGALRM, signal.SIG_IGN)
        else:
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGALRM})
        try:
            guard_timer.arm(time.monotonic() + 1)
        except guard_timer.GuardTimerError as error:
            write(str(error).encode())

    how, said = Child(sender).end()
    assert how == "exit 0"
    assert b"SIGALRM" in said
    assert b"nothing" in said


def test_a_forked_child_does_not_inherit_its_parents_deadlines() -> None:
    def parent(write: Callable[[bytes], int]) -> None:
        guard_timer.arm(time.monotonic() + 0.3)
        pid = os.fork()
        if pid == 0:
            token = guard_timer.arm(time.monotonic() + 9)
            time.sleep(0.5)
            write(b"child alive")
            guard_timer.disarm(token)
            os._exit(0)
        os.waitpid(pid, 0)
        write(b"parent alive")

    child = Child(parent)
    how, said = child.end()
    assert how == KILLED_BY_TIMER
    assert said == b"child alive"


def test_a_deadline_read_from_a_wall_clock_shrinks_by_the_time_the_reading_took() -> None:
    before = time.monotonic()
    time.sleep(0.05)  # the round trip to the database
    deadline = guard_timer.monotonic_deadline(2.0, read_at=before)
    assert deadline - time.monotonic() < 1.96
    with pytest.raises(ValueError, match="finite"):
        guard_timer.monotonic_deadline(float("inf"), read_at=before)
