"""`kvasir chat` in a real terminal (a pty) and through a pipe."""

import os
import pty
import re
import select
import subprocess
import time

from conftest import BIN


class Terminal:
    def __init__(self, *command):
        self.master, slave = pty.openpty()
        self.process = subprocess.Popen(
            command, stdin=slave, stdout=slave, stderr=slave, close_fds=True, start_new_session=True,
            preexec_fn=lambda: __import__("fcntl").ioctl(0, __import__("termios").TIOCSCTTY, 0),
        )
        os.close(slave)
        self.seen = ""

    def expect(self, pattern, timeout_s=60):
        deadline = time.monotonic() + timeout_s
        while not (match := re.search(pattern, self.seen, re.S)):
            ready, _, _ = select.select([self.master], [], [], max(0, deadline - time.monotonic()))
            assert ready, f"waited for {pattern!r}, saw {self.seen!r}"
            try:
                self.seen += os.read(self.master, 4096).decode(errors="replace")
            except OSError:
                raise AssertionError(f"the program ended; waited for {pattern!r}, saw {self.seen!r}")
        self.seen = self.seen[match.end() :]
        return match

    def type(self, text):
        os.write(self.master, text.encode())

    def close(self):
        code = self.process.wait(20)
        os.close(self.master)
        return code


def test_a_conversation(server):
    t = Terminal(BIN, "chat", "--url", server.url, "--model", "smollm2", "--temperature", "0")
    t.expect("smollm2")
    t.expect("> ")
    t.type("What is 2+2?\n")
    t.expect("4")
    t.expect("\n> ")
    t.type("/model qwen2.5-coder\n")
    t.expect("qwen2.5-coder")
    t.expect("> ")
    t.type("What is the capital of France? One word.\n")
    t.expect("Paris")
    t.expect("\n> ")
    t.type("/exit\n")
    assert t.close() == 0


def test_ctrl_c_stops_the_answer_and_not_the_program(server):
    t = Terminal(BIN, "chat", "--url", server.url, "--model", "smollm2", "--temperature", "0")
    t.expect("> ")
    t.type("Write a very long story about the sea with many chapters.\n")
    t.expect(r"\w+ \w+ \w+ \w+ \w+")
    t.type("\x03")
    t.expect("> ")
    t.type("What is 2+2?\n")
    t.expect(r"\d")
    t.expect("\n> ")
    t.type("\x04")
    assert t.close() == 0


def test_through_a_pipe(server):
    run = subprocess.run(
        [BIN, "chat", "--url", server.url, "--model", "smollm2", "--temperature", "0"],
        input="What is 2+2?\n", capture_output=True, text=True, timeout=60,
    )
    assert run.returncode == 0 and "4" in run.stdout, run.stdout + run.stderr


def test_no_server():
    run = subprocess.run([BIN, "chat", "--url", "http://127.0.0.1:1"], input="x\n", capture_output=True, text=True, timeout=60)
    assert run.returncode == 1
    assert "127.0.0.1:1" in run.stderr and "kvasir serve" in run.stderr
