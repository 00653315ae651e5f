import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import { theme } from "../ui/theme.ts";
import { compact } from "./figures.ts";
import { history, look } from "./store.ts";

export interface Line {
  name: string; // a column of the history
  label: string;
  colour: string;
  fill?: boolean;
}

export interface ChartProps {
  title: string;
  lines: Line[];
  format?: (value: number) => string;
  stacked?: boolean;
  max?: number;
  least?: number; // the top of the axis where the values are small
}

const kHeight = 148;
const kSeconds = 120;
const kLeastSeconds = 20;

function cssColour(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

// In a stacked chart a line shows the sum of itself and of those before it; the first is drawn last.
function columnsOf(lines: Line[], stacked: boolean): (number | null)[][] {
  const columns = lines.map((line) => history.rows.columns[line.name] ?? []);
  if (!stacked) return columns;
  const sums: (number | null)[][] = [];
  for (const [at, column] of columns.entries())
    sums.push(column.map((value, row) => (value ?? 0) + (sums[at - 1]?.[row] ?? 0)));
  return sums.reverse();
}

function optionsOf(props: ChartProps, width: number): uPlot.Options {
  const format = props.format ?? compact;
  const axis = { stroke: cssColour("--muted"), font: "11px system-ui", ticks: { show: false }, gap: 4 };
  const grid = { stroke: cssColour("--line"), width: 1 };
  const lines = props.stacked ? [...props.lines].reverse() : props.lines;
  return {
    width,
    height: kHeight,
    padding: [8, 22, 0, 0],
    cursor: { y: false, points: { size: 6 } },
    legend: { show: false },
    scales: {
      x: {
        time: true,
        range: (_plot, min, max) => [max - Math.min(kSeconds, Math.max(kLeastSeconds, max - min)), max],
      },
      y: { range: (_plot, _min, max) => [0, props.max ?? Math.max(max * 1.12, props.least ?? 5)] },
    },
    axes: [
      { ...axis, grid: { show: false }, size: 22, space: 80, values: "{HH}:{mm}:{ss}" },
      { ...axis, grid, size: 46, space: 34, values: (_plot, values) => values.map((value) => format(value)) },
    ],
    series: [
      {},
      ...lines.map((line) => ({
        label: line.label,
        stroke: line.colour,
        width: 1.6,
        fill: line.fill || props.stacked ? `${line.colour}${props.stacked ? "88" : "22"}` : undefined,
        points: { show: false },
        spanGaps: false,
      })),
    ],
  };
}

function newest(name: string): number | null {
  return history.rows.columns[name]?.at(-1) ?? null;
}

export function Chart(props: ChartProps) {
  const holder = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const colours = theme();
  const format = props.format ?? compact;
  useEffect(() => {
    const element = holder.current!;
    const made = new uPlot(
      optionsOf(props, element.clientWidth),
      [[], ...props.lines.map(() => [])],
      element,
    );
    plot.current = made;
    const observer = new ResizeObserver(() => made.setSize({ width: element.clientWidth, height: kHeight }));
    observer.observe(element);
    return () => {
      observer.disconnect();
      made.destroy();
    };
  }, [colours]);
  useEffect(() => {
    if (document.hidden) return;
    plot.current?.setData([
      history.rows.times,
      ...columnsOf(props.lines, props.stacked ?? false),
    ] as uPlot.AlignedData);
  });
  void look.value; // drawn with each look
  return (
    <figure class="chart">
      <figcaption>
        <h3>{props.title}</h3>
        <ul>
          {props.lines.map((line) => {
            const value = newest(line.name);
            return (
              <li key={line.name}>
                <svg class="swatch" viewBox="0 0 8 8" aria-hidden="true">
                  <rect width="8" height="8" rx="2" fill={line.colour} />
                </svg>
                {line.label} <b>{value === null ? "–" : format(value)}</b>
              </li>
            );
          })}
          {props.lines.length === 0 && <li>nothing yet</li>}
        </ul>
      </figcaption>
      <div ref={holder} class="plot" role="img" aria-label={`${props.title} of the last two minutes`} />
    </figure>
  );
}
