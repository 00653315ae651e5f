"""Every gateway of a fleet is restarted behind a load balancer, under clients that never try anything twice."""

import concurrent.futures
import signal
import threading

import httpx

from conftest import wait_until
from fleet_processes import Gateway, Worker
from test_fleet_failures import KINDS, read

KINDS_HERE = ["greedy", "seeded", "schema"]


class Balancer:
    """Asks each gateway five times a second whether it is ready, as load balancers do, and takes them in turns."""

    def __init__(self, gateways):
        self.gateways = gateways  # the test replaces those that it restarts
        self.ready = []
        self.turn = 0
        self.over = threading.Event()
        self.thread = threading.Thread(target=self._watch, daemon=True)
        self.thread.start()

    def _is_ready(self, gateway):
        try:
            return httpx.get(gateway.url + "/health/ready", timeout=5).status_code == 200
        except httpx.HTTPError:
            return False

    def _watch(self):
        while not self.over.wait(0.2):
            self.ready = [gateway for gateway in list(self.gateways) if self._is_ready(gateway)]

    def pick(self):
        wait_until(lambda: self.ready, 30, "a gateway that is ready")
        self.turn += 1
        ready = self.ready
        return ready[self.turn % len(ready)]

    def end(self):
        self.over.set()
        self.thread.join()


def test_a_rolling_restart_of_the_gateways_loses_no_stream(tmp_path):
    workers = [Worker() for _ in range(2)]
    folders = [tmp_path / "g0", tmp_path / "g1"]
    gateways, balancer = [], None

    def start(i, port=None):
        folders[i].mkdir(exist_ok=True)
        return Gateway(folders[i], workers, args=["--drain-notice-s", "2"], port=port)

    def wait_joined(gateway):
        gateway.wait_ready("smollm2")
        wait_until(lambda: gateway.output().count("worker_joined") == 2, 60, "both workers in the pool")

    try:
        for worker in workers:
            worker.wait_ready()
        gateways.extend(start(i) for i in range(2))
        for gateway in gateways:
            wait_joined(gateway)
        whole = {kind: read(gateways[0].client().chat.completions.create(**KINDS[kind], stream=True)) for kind in KINDS_HERE}
        balancer = Balancer(gateways)
        over = threading.Event()
        ended = []

        def load(kind):
            while not over.is_set():
                gateway = balancer.pick()
                said = read(gateway.client(timeout=120).chat.completions.create(**KINDS[kind], stream=True))
                ended.append((gateway, said == whole[kind]))

        with concurrent.futures.ThreadPoolExecutor() as pool:
            clients = [pool.submit(load, kind) for kind in KINDS_HERE]
            try:
                for i, gateway in enumerate(list(gateways)):
                    wait_until(lambda: gateway.metric("kvasir_http_requests_active") > 1 or any(c.done() for c in clients), 60, "streams on it")
                    gateway.process.send_signal(signal.SIGTERM)
                    assert gateway.process.wait(60) == 0, gateway.output()
                    gateways[i] = start(i, gateway.port)
                    wait_joined(gateways[i])
                    wait_until(lambda: any(g is gateways[i] for g, _ in ended) or any(c.done() for c in clients), 60, "streams after its return")
            finally:
                over.set()
            for client in clients:
                client.result(timeout=120)
        assert all(good for _, good in ended)
        assert len({id(gateway) for gateway, _ in ended}) == 4  # each, before its restart and after it
    finally:
        if balancer:
            balancer.end()
        for gateway in gateways:
            gateway.terminate()
        for worker in workers:
            worker.end(signal.SIGKILL)
