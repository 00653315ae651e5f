"""The services of a compose file as processes on loopback: each has an address of its own, by which the others' names for
it are replaced, and its volumes are folders. What it cannot show is the image, and that containers are apart."""

import os
import random
import re
import signal
import subprocess
import threading
import time

import yaml

STEPS = {"service_healthy", "service_completed_successfully"}


def seconds(text):
    return float(re.fullmatch(r"(\d+)s", text).group(1))


class Composed:
    """Starts all services in the order that `depends_on` wants, and waits until each is healthy. `programs` says where a
    command's program is here, `folders` which folder is a volume."""

    def __init__(self, path, programs, folders, environment):
        self.services = yaml.safe_load(path.read_text())["services"]
        base = f"127.{random.randrange(1, 255)}.{random.randrange(256)}."
        self.addresses = {name: base + str(10 + i) for i, name in enumerate(self.services)}
        self.programs, self.folders, self.environment = programs, folders, environment
        self.processes, self.logs, self.healthy = {}, {}, set()

    def here(self, service, text):
        for name, address in self.addresses.items():
            text = re.sub(rf"(?<![\w.-]){re.escape(name)}(?=:\d)", address, text)
        text = re.sub(r"\b(0\.0\.0\.0|127\.0\.0\.1)\b", self.addresses[service], text)
        for volume in self.services[service].get("volumes", []):
            name, _, there = volume.partition(":")
            text = re.sub(rf"^{re.escape(there)}(?=/|$)", str(self.folders[name]), text)
        return text

    def popen(self, service, command, **more):
        program = command[0]
        words = [self.programs.get(program, program), *(self.here(service, word) for word in command[1:])]
        given = {name: self.here(service, value) for name, value in self.services[service].get("environment", {}).items()}
        return subprocess.Popen(words, env={"PATH": os.environ["PATH"], **given, **self.environment}, text=True, errors="replace",
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **more)

    def up(self):
        for name in self.services:
            self.start(name)
        for name, service in self.services.items():
            if "healthcheck" in service:
                self.wait_for(name, "service_healthy")
        return self

    def start(self, name):
        if name in self.processes:
            return
        for before, how in self.services[name].get("depends_on", {}).items():
            self.start(before)
            self.wait_for(before, how["condition"])
        process = self.popen(name, self.services[name]["command"])
        self.processes[name], self.logs[name] = process, []
        threading.Thread(target=lambda: self.logs[name].extend(process.stdout), daemon=True).start()

    def wait_for(self, name, condition):
        assert condition in STEPS
        if condition == "service_completed_successfully":
            assert self.processes[name].wait(300) == 0, self.output(name)
        elif name not in self.healthy:
            check = self.services[name]["healthcheck"]
            assert check["test"][0] == "CMD"
            for _ in range(check["retries"]):
                assert self.processes[name].poll() is None, self.output(name)
                probe = self.popen(name, check["test"][1:])
                if probe.communicate(timeout=30) and probe.returncode == 0:
                    self.healthy.add(name)
                    return
                time.sleep(seconds(check["interval"]))  # as the file says
            raise AssertionError(f"{name} is not healthy\n{self.output(name)}")

    def output(self, name):
        return "".join(self.logs[name])

    def down(self):
        """Stops them as `docker compose down` does, those first that others do not need; the exit statuses."""
        ended = {}
        for name in reversed(list(self.processes)):
            process = self.processes[name]
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
            try:
                ended[name] = process.wait(seconds(self.services[name].get("stop_grace_period", "10s")))
            except subprocess.TimeoutExpired:
                process.kill()
                ended[name] = process.wait()
        return ended
