"""Chosen steps beside fixed ones: `kvasir serve` with each `--target-step-ms` (0: chosen), one after the other, under the
same loads of `kvasir bench serve`. Everything stays on this machine.

`step_lengths.py --device cuda --model FILE [--bin FOLDER] [--steps 0,13,40] [--cases clients,rates,...]`
`step_lengths.py --device cpu --model qwen2.5-coder --bin build/release/bin --steps 0,150,600`
"""

import argparse
import json
import pathlib

import kvasir_server
from kvasir_server import served

# Flags of `kvasir bench serve` by case. The warm-up run does not count; it creates everything that is made on
# first use.
CASES = {
    "cuda": {
        "warm": "--workload mixed --output-tokens 150 --concurrency 256 --requests 512",
        "clients": "--workload mixed --output-tokens 150 --concurrency 256 --requests 2000",
        "prefix": "--workload prefix --prefix-tokens 2000 --prefix-groups 32 --output-tokens 150 --concurrency 128 --requests 1000",
        "rates": "--workload mixed --output-tokens 150 --rates 20,40,60,70 --duration 15",
        "burst": "--workload burst --burst 32 --output-tokens 150 --rates 40 --duration 15",
        "poisson": "--input-tokens 512 --output-tokens 256 --rate 26 --duration 20",
        "long": "--workload long --long-tokens 100000 --long-every 33 --input-tokens 100 --output-tokens 400 --concurrency 33 --requests 150",
        "one": "--concurrency 1 --input-tokens 512 --output-tokens 256 --requests 8",
    },
    "cpu": {
        "clients": "--concurrency 32 --requests 32 --input-tokens 200 --output-tokens 64",
        "rates": "--workload mixed --spread 0.6 --output-tokens 54 --rates 0.2,0.4,0.6,0.8 --duration 90",
        "one": "--concurrency 1 --requests 4",
    },
}


def load(options, port, case):
    """Each case has its own prompts, the same for all servers, so that no case finds those of another in the cache."""
    cases = CASES[options.device]
    flags = ["--endpoint", options.endpoint, "--seed", 100 * options.seed + list(cases).index(case), *cases[case].split()]
    if options.slo_ttft:
        flags += ["--slo-ttft", options.slo_ttft, "--slo-tpot", options.slo_tpot]
    return kvasir_server.load(options.bin / "kvasir", port, *flags)


def row(step, case, phase):
    ttft, itl = phase["ttft_ms"], phase["itl_ms"]
    label = f"{case} {phase['rate']:g}/s" if phase.get("rate") else case
    good = phase.get("goodput_per_s")
    return (f"{'chosen' if step == 0 else step:>7} {label:<14} {phase['output_tokens_per_s']:>9,.1f} {ttft['p50']:>9,.0f} {ttft['p95']:>9,.0f} "
            f"{itl['p50']:>8,.1f} {itl['p95']:>8,.1f} {itl['max']:>9,.0f} {'-' if good is None else f'{good:.3f}':>8}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", choices=CASES, required=True)
    parser.add_argument("--model", required=True)
    parser.add_argument("--bin", type=pathlib.Path, default=pathlib.Path("build/cuda/bin"))
    parser.add_argument("--steps", default="0,13,40", help="target_step_ms of each server; 0: chosen")
    parser.add_argument("--cases", help="some of them (default: all)")
    parser.add_argument("--endpoint", default="completions")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--serve-flags", default="", help="more flags for the servers, in one string")
    parser.add_argument("--slo-ttft", help="ms; with --slo-tpot, what a good request keeps to")
    parser.add_argument("--slo-tpot")
    parser.add_argument("--json", type=pathlib.Path, help="also write the figures there")
    options = parser.parse_args()
    cases = CASES[options.device]
    wanted = options.cases.split(",") if options.cases else [name for name in cases if name != "warm"]
    figures = {}
    print(f"{'step ms':>7} {'case':<14} {'tok/s':>9} {'TTFT p50':>9} {'p95, ms':>9} {'gap p50':>8} {'p95':>8} {'max, ms':>9} {'good/s':>8}")
    for step in [int(step) for step in options.steps.split(",")]:
        flags = ["--device", options.device, "--model", options.model, "--max-queue", 2048, *options.serve_flags.split()]
        with served(options.bin / "kvasir", *flags, *(["--target-step-ms", step] if step else [])) as (_, port, _):
            if "warm" in cases:
                load(options, port, "warm")
            for case in wanted:
                phases = load(options, port, case)
                figures.setdefault(str(step), {})[case] = phases
                for phase in phases:
                    print(row(step, case, phase), flush=True)
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
