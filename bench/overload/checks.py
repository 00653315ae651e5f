"""What keys, limits and shares cost, by `tenancy_bench`."""

import json
import pathlib
import subprocess

from .results import Result, Table

REQUEST_US = 20
STEP_US = 10


async def cost(bench):
    """µs of a request's checks, and of planning a step for many tenants beside one."""
    result = Result("Cost of the checks")
    program = pathlib.Path(bench.kvasir).with_name("tenancy_bench")
    if not program.exists():
        result.check("µs of a request and of a step", f"there is no {program.name} beside the binary", "measured", False)
        return result
    found = json.loads(subprocess.run([program], capture_output=True, text=True, check=True, timeout=120).stdout)
    result.tables.append(Table("Processor time, 1,000 tenants", ["", "µs"], [[name, f"{value:.2f}"] for name, value in found.items()]))
    result.at_most("a request's checks, µs", found["request"], REQUEST_US)
    result.at_most("a step with 1,000 tenants beside one, more µs", found["step_1000"] - found["step_1"], STEP_US)
    return result
