"""A systemd unit's service, started in folders of the test's own, with the test in the place of systemd."""

import os
import re
import shlex
import socket
import subprocess
import threading


class Unit:
    """What a unit file says of its service, with `%i` as the instance."""

    def __init__(self, path, instance=""):
        self.lines = re.findall(r"^(\w+)=(.*)$", path.read_text().split("[Service]")[1].split("[Install]")[0], re.M)
        self.instance = instance

    def all(self, key):
        return [value for name, value in self.lines if name == key]

    def only(self, key):
        (value,) = self.all(key)
        return value


class Started:
    """The unit's ExecStart with its Environment: `folders` says where its folders are here, `environment` what else is
    set. What it tells the service manager is in `told`."""

    def __init__(self, unit, folders, environment):
        def here(text):
            text = text.replace("%i", unit.instance).replace("%S", "/var/lib").replace("%C", "/var/cache")
            for there, place in folders.items():
                text = text.replace(there, str(place))
            assert "%" not in text, f"a specifier that this test does not know: {text}"
            return text

        self.notices = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.notices.settimeout(120)
        self.notices.bind("\0kvasir-test-" + os.urandom(8).hex())
        mine = dict(word.split("=", 1) for line in unit.all("Environment") for word in shlex.split(line))
        self.process = subprocess.Popen(
            [here(word) for word in shlex.split(unit.only("ExecStart"))],
            env={"PATH": "/usr/bin:/bin", "NOTIFY_SOCKET": "@" + self.notices.getsockname()[1:].decode(),
                 **{name: here(value) for name, value in mine.items()}, **environment},
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
        self.log = []
        self.reading = threading.Thread(target=lambda: self.log.extend(self.process.stdout), daemon=True)
        self.reading.start()

    def told(self):
        """The next thing that the service tells its manager."""
        try:
            return self.notices.recv(4096).decode()
        except TimeoutError:
            raise AssertionError("the service told nothing:\n" + "".join(self.log)) from None

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.notices.close()
