"""What a scenario found: figures, bounds that hold or do not, plots."""

import dataclasses
import math


@dataclasses.dataclass
class Check:
    what: str
    value: str
    bound: str
    holds: bool | None  # None: could not be measured


@dataclasses.dataclass
class Table:
    title: str
    columns: list
    rows: list  # of texts


@dataclasses.dataclass
class Result:
    name: str
    checks: list = dataclasses.field(default_factory=list)
    tables: list = dataclasses.field(default_factory=list)
    plots: list = dataclasses.field(default_factory=list)  # SVG
    notes: list = dataclasses.field(default_factory=list)
    most_lag_s: float = 0.0
    seconds: float = 0.0

    def check(self, what, value, bound, holds):
        self.checks.append(Check(what, value, bound, bool(holds)))

    def at_most(self, what, value, bound, form="{:.1f}"):
        self.check(what, form.format(value), "at most " + form.format(bound), not math.isnan(value) and value <= bound)

    def at_least(self, what, value, bound, form="{:.1f}"):
        self.check(what, form.format(value), "at least " + form.format(bound), not math.isnan(value) and value >= bound)

    def skip(self, what, reason):
        self.checks.append(Check(what, reason, "", None))

    def saw(self, phase):
        """Keeps how late the generator was in that phase."""
        self.most_lag_s = max([self.most_lag_s, *phase.lag_s])


def percent(share):
    return "-" if math.isnan(share) else f"{100 * share:.1f} %"


def ms(seconds):
    return "-" if math.isnan(seconds) or math.isinf(seconds) else f"{1000 * seconds:.0f}"


def verdict(holds):
    return {True: "pass", False: "FAIL", None: "not measured"}[holds]


def as_text(table):
    """Columns of equal width; the first one to the left."""
    lines = [table.columns, *table.rows]
    widths = [max(len(line[i]) for line in lines) for i in range(len(table.columns))]
    shown = ["  ".join(cell.ljust(width) if i == 0 else cell.rjust(width) for i, (cell, width) in enumerate(zip(line, widths)))
             for line in lines]
    return "\n".join([table.title, *("  " + line.rstrip() for line in shown)])


def print_result(result):
    print(f"\n== {result.name} ({result.seconds:.0f} s)")
    for table in result.tables:
        print(as_text(table))
    for note in result.notes:
        print(f"  note: {note}")
    for check in result.checks:
        print(f"  {verdict(check.holds):>12}  {check.what}: {check.value}{f' ({check.bound})' if check.bound else ''}")


def exit_status(results, is_quick):
    """A bound that could not be measured does not hold, except in a quick run, which may be too short for some."""
    found = [check.holds for result in results for check in result.checks]
    return 1 if False in found or (None in found and not is_quick) else 0


def summary(results):
    return Table("All bounds", ["bound", "measured", "wanted", ""],
                 [[f"{result.name}: {check.what}", "-" if check.holds is None else check.value, check.bound, verdict(check.holds)]
                  for result in results for check in result.checks])
