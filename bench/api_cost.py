"""What a request through the API costs. Several servers on the same tiny model, with hardly anything to compute, are asked in
turns; prints the processor time, context switches and requests/s of each, and their ratios to the first one's.

`api_cost.py SERVER SERVER...`: each is a kvasir binary, with flags if it is quoted: "build/release/bin/kvasir --log-requests=false".
The last one's binary makes the load. Everything stays on this machine.
"""

import argparse
import contextlib
import dataclasses
import pathlib
import shlex
import statistics
import tempfile

from kvasir_server import load, served
from open_streams import write_tiny_model


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("servers", nargs="+", help="a binary, and flags")
    parser.add_argument("--model", type=pathlib.Path, help="a folder; without it a tiny model is written")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--requests", type=int, default=1000, help="of one round")
    parser.add_argument("--concurrency", type=int, default=16)
    parser.add_argument("--input-tokens", type=int, default=20)
    parser.add_argument("--output-tokens", type=int, default=2)
    parser.add_argument("--compute-threads", type=int, default=1, help="more than one spin while they wait for each other")
    return parser.parse_args()


@dataclasses.dataclass
class Spent:
    """What the threads of a process have used since they began."""
    cpu_s: float
    kernel_s: float
    num_switches: int

    def __sub__(self, earlier):
        return Spent(self.cpu_s - earlier.cpu_s, self.kernel_s - earlier.kernel_s, self.num_switches - earlier.num_switches)


def spent(process):
    folder = pathlib.Path(f"/proc/{process.pid}")
    tasks = list(folder.glob("task/*"))
    cpu_ns = sum(int((task / "schedstat").read_text().split()[0]) for task in tasks)
    num_switches = sum(int(line.split()[1]) for task in tasks for line in (task / "status").read_text().splitlines()
                       if line.startswith("voluntary_ctxt_switches"))
    kernel_ticks = int((folder / "stat").read_text().rsplit(")", 1)[1].split()[12])
    return Spent(cpu_ns / 1e9, kernel_ticks / 100, num_switches)


@dataclasses.dataclass
class Server:
    name: str
    process: object
    port: int
    rounds: list = dataclasses.field(default_factory=list)

    def ask(self, options, client, seed):
        before = spent(self.process)
        phase = load(client, self.port, "--endpoint", "completions", "--concurrency", options.concurrency, "--requests",
                     options.requests, "--warmup", 0, "--seed", seed, "--input-tokens", options.input_tokens,
                     "--output-tokens", options.output_tokens)[0]
        used = spent(self.process) - before
        if phase["failed"]:
            raise RuntimeError(f"{self.name}: {phase['failures']}")
        count = options.requests
        return {"us": 1e6 * used.cpu_s / count, "kernel us": 1e6 * used.kernel_s / count, "switches": used.num_switches / count,
                "requests/s": phase["requests_per_s"], "tokens/s": phase["output_tokens_per_s"]}


def start(stack, options, folder, command):
    binary, *flags = shlex.split(command)
    data = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory()))
    log = stack.enter_context(open(data / "stderr", "w"))
    process, port, _ = stack.enter_context(served(binary, "--model", folder, "--data-dir", data, "--compute-threads",
                                                  options.compute_threads, *flags, stderr=log))
    return Server(command, process, port)


def median(server, what):
    return statistics.median(one[what] for one in server.rounds)


def ratios(server, base, what):
    """By round, since the machine's other users change from one to the next."""
    return sorted(own[what] / other[what] for own, other in zip(server.rounds, base.rounds))


def print_table(servers):
    columns = list(servers[0].rounds[0])
    print(" | ".join(["server", *columns]))
    for server in servers:
        print(" | ".join([server.name, *(f"{median(server, column):.1f}" for column in columns)]))
    for server in servers[1:]:
        for what in ("us", "requests/s"):
            found = ratios(server, servers[0], what)
            quarter = len(found) // 4
            print(f"{server.name}: {what}, ratio of rounds {statistics.median(found):.3f} "
                  f"(half of them {found[quarter]:.3f} to {found[-1 - quarter]:.3f})")


def tiny_model(stack):
    folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory())) / "tiny"
    folder.mkdir()
    write_tiny_model(folder)
    return folder


def main():
    options = arguments()
    client = shlex.split(options.servers[-1])[0]
    with contextlib.ExitStack() as stack:
        folder = options.model or tiny_model(stack)
        servers = [start(stack, options, folder, command) for command in options.servers]
        for server in servers:
            server.ask(options, client, 0)
        for i in range(options.rounds):
            # The order changes, so that none is always the one after the pause.
            order = servers if i % 2 == 0 else servers[::-1]
            for server in order:
                server.rounds.append(server.ask(options, client, i + 1))
        print_table(servers)


if __name__ == "__main__":
    main()
