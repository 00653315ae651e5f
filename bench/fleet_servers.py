"""Workers and a gateway for a benchmark, as contexts."""

import contextlib
import os
import threading

from kvasir_server import free_port, running


def percentile(values, part):
    return sorted(values)[min(len(values) - 1, int(part * len(values)))]


@contextlib.contextmanager
def worker_of(kvasir, model, *flags):
    """A worker that has loaded its model; gives its address."""
    address = f"127.0.0.1:{free_port()}"
    with running(kvasir, "worker", "--model", model, "--listen", address, "--health-listen", "127.0.0.1:0", *flags):
        yield address


@contextlib.contextmanager
def gateway_of(kvasir, folder, addresses, *flags):
    """A gateway that has found all of these workers; gives its port."""
    folder.mkdir()
    listed = folder / "fleet.toml"
    listed.write_text("".join(f'[[worker]]\naddress = "{address}"\n' for address in addresses))
    port = free_port()
    reading, writing = os.pipe()
    with open(reading) as log:
        with running(kvasir, "gateway", "--workers", listed, "--port", port, "--no-log-requests", "--data-dir", folder / "data",
                     "--model-dir", folder / "models", *flags, stderr=writing):
            os.close(writing)  # the gateway has it
            joined = 0
            while joined < len(addresses):
                line = log.readline()
                if not line:
                    raise RuntimeError("the gateway ended")
                joined += "worker_joined" in line
            threading.Thread(target=log.read, daemon=True).start()  # so that the pipe is never full
            yield port
