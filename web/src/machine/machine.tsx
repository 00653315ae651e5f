import { useEffect } from "preact/hooks";
import { TenantsCard } from "../tenants/tenants.tsx";
import { Chart, type ChartProps } from "./chart.tsx";
import { colourOf, nameOf } from "./colours.ts";
import { compact, duration } from "./figures.ts";
import { Fleet } from "./fleet.tsx";
import { Models } from "./models.tsx";
import { choose, chosen, constants, history, look, trouble, watch } from "./store.ts";
import { Refusals, Requests } from "./tables.tsx";
import { Timeline } from "./timeline.tsx";
import { SinceTheStart } from "./totals.tsx";

const amber = "#d28f1f";
const blue = "#3d8fd1";
const green = "#3f9f63";
const red = "#d4574e";
const grey = "#8d8d88";
const percent = (value: number) => `${value.toFixed(0)} %`;

const charts: ChartProps[] = [
  {
    title: "Tokens a second",
    lines: [
      { name: "decode", label: "written", colour: amber, fill: true },
      { name: "prefill", label: "read", colour: blue },
    ],
  },
  {
    title: "Time to the first token (TTFT)",
    format: duration,
    least: 0.02,
    lines: [
      { name: "ttft50", label: "p50", colour: green },
      { name: "ttft95", label: "p95", colour: amber },
      { name: "ttft99", label: "p99", colour: red },
    ],
  },
  {
    title: "Time per token (TPOT)",
    format: duration,
    least: 0.02,
    lines: [
      { name: "tpot50", label: "p50", colour: green },
      { name: "tpot95", label: "p95", colour: amber },
      { name: "tpot99", label: "p99", colour: red },
    ],
  },
  {
    title: "Time between tokens",
    format: duration,
    least: 0.02,
    lines: [
      { name: "itl50", label: "p50", colour: green },
      { name: "itl95", label: "p95", colour: amber },
      { name: "itl99", label: "p99", colour: red },
    ],
  },
  {
    title: "Sequences",
    lines: [
      { name: "running", label: "running", colour: green, fill: true },
      { name: "waiting", label: "waiting", colour: amber },
      { name: "lobby", label: "at the door", colour: red },
      { name: "preemptions", label: "preempted", colour: grey },
    ],
  },
  {
    title: "KV blocks by state",
    stacked: true,
    lines: [
      { name: "used", label: "used", colour: amber },
      { name: "cached", label: "cached", colour: blue },
      { name: "free", label: "free", colour: grey },
    ],
  },
  { title: "Batch size: rows a step", lines: [{ name: "rows", label: "rows", colour: blue, fill: true }] },
  {
    title: "Prefix cache",
    format: percent,
    max: 100,
    lines: [{ name: "hits", label: "of the prompts", colour: blue, fill: true }],
  },
];

// Charts with a line for each class, tenant or reason that there has been lately.
function groupedCharts(): ChartProps[] {
  const colours = [red, amber, blue, green, grey];
  const colourAt = (at: number) => colours[at % colours.length]!;
  const queue = history.linesOf("queue").sort((a, b) => Number(b.of) - Number(a.of));
  return [
    {
      title: "KV blocks by tenant",
      stacked: true,
      lines: history
        .linesOf("blocks")
        .map(({ name, of }) => ({ name, label: nameOf(of), colour: colourOf(of) })),
    },
    {
      title: "Queue by priority",
      stacked: true,
      lines: queue.map(({ name, of }, at) => ({ name, label: `priority ${of}`, colour: colourAt(at) })),
    },
    {
      title: "Goodput by class, 1 minute",
      format: percent,
      max: 105,
      lines: history
        .linesOf("goodput")
        .map(({ name, of }, at) => ({ name, label: of, colour: colourAt(at + 2) })),
    },
    {
      title: "Refusals by reason",
      lines: history
        .linesOf("refusals")
        .map(({ name, of }, at) => ({ name, label: of, colour: colourAt(at) })),
    },
  ];
}

function newest(name: string): number | null {
  return history.rows.columns[name]?.at(-1) ?? null;
}

function Numbers() {
  const of = (name: string, format: (value: number) => string = compact) => {
    const value = newest(name);
    return value === null ? "–" : format(value);
  };
  const used = newest("used") ?? 0;
  const all = used + (newest("cached") ?? 0) + (newest("free") ?? 0);
  const numbers: [string, string][] = [
    ["tokens/s written", of("decode")],
    ["tokens/s read", of("prefill")],
    ["running", of("running")],
    ["waiting", of("waiting")],
    ["first token, p95", of("ttft95", duration)],
    ["KV cache in use", all > 0 ? percent((100 * used) / all) : "–"],
  ];
  return (
    <dl class="numbers">
      {numbers.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

function Waiting() {
  return (
    <div class="waiting-for-it">
      <h1>Machine</h1>
      <p class="muted" role="status">
        {trouble.value ?? "Connecting …"}
      </p>
      {trouble.value && (
        <button type="button" class="primary" onClick={() => location.reload()}>
          Try again
        </button>
      )}
    </div>
  );
}

export function Machine() {
  useEffect(watch, []);
  const seen = look.value;
  if (!seen) return <main class="machine">{<Waiting />}</main>;
  const names = seen.models.filter((model) => model.counters).map((model) => model.name);
  return (
    <main class="machine" tabIndex={0}>
      <header class="head">
        <h1>Machine</h1>
        <span class={`live ${trouble.value ? "off" : ""}`}>{trouble.value ?? "live"}</span>
        <span class="grow" />
        {names.length > 1 && (
          <label class="picker">
            <span class="hidden">Model of the charts</span>
            <select value={chosen.value} onChange={(event) => choose(event.currentTarget.value)}>
              <option value="">all models</option>
              {names.map((name) => (
                <option key={name} value={name}>
                  {name}
                </option>
              ))}
            </select>
          </label>
        )}
        <span class="muted">Kvasir {constants.value?.version}</span>
      </header>
      <Numbers />
      <Timeline />
      <div class="charts" key={chosen.value}>
        {[...charts, ...groupedCharts()].map((chart) => (
          <Chart key={[chart.title, ...chart.lines.map((line) => line.name)].join()} {...chart} />
        ))}
      </div>
      <Requests look={seen} />
      <Fleet look={seen} />
      <Models look={seen} />
      <SinceTheStart look={seen} />
      <Refusals look={seen} />
      <TenantsCard />
    </main>
  );
}
