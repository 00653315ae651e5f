import { useEffect, useRef, useState } from "preact/hooks";
import { theme } from "../ui/theme.ts";
import { colourOf, nameOf } from "./colours.ts";
import type { TimedStep } from "./history.ts";
import { history, look } from "./store.ts";
import type { Slice } from "./types.ts";

const kSeconds = 8;
const kTop = 20;

function laneHeight(lanes: string[]): number {
  return lanes.length <= 6 ? 84 : 44;
}

interface Hover {
  x: number;
  y: number;
  step: TimedStep;
  slice: Slice | null;
}

interface Box {
  step: TimedStep;
  slice: Slice | null;
  x: number;
  y: number;
  width: number;
  height: number;
}

function rowsOf(step: TimedStep): number {
  return step.slices.reduce((sum, slice) => sum + slice[2], step.other_rows);
}

// Heights grow with the root of the rows, so that one decode row is seen beside a prompt of hundreds.
function layOut(steps: TimedStep[], lanes: string[], end: number, width: number): Box[] {
  const boxes: Box[] = [];
  const start = end - kSeconds;
  const perSecond = width / kSeconds;
  const recent = steps.filter((step) => step.at + step.run_ms / 1000 >= start);
  const lane = laneHeight(lanes);
  const most = Math.max(1, ...recent.map((step) => Math.sqrt(rowsOf(step))));
  for (const step of recent) {
    const bottom = kTop + (lanes.indexOf(step.lane) + 1) * lane - 6;
    const x = (step.at - start) * perSecond;
    const barWidth = Math.max(1.5, (step.run_ms / 1000) * perSecond - 1);
    const rows = rowsOf(step);
    const height = Math.max(6, ((lane - 22) * Math.sqrt(rows)) / most);
    let y = bottom;
    const slices: (Slice | null)[] = [...step.slices].sort((a, b) => a[3] - b[3] || (a[1] < b[1] ? -1 : 1));
    if (step.other_rows) slices.push(null);
    for (const slice of slices) {
      const part = (height * (slice ? slice[2] : step.other_rows)) / rows;
      y -= part;
      boxes.push({ step, slice, x, y, width: barWidth, height: part });
    }
  }
  return boxes;
}

// Who has computed something; before anybody has, all models.
function lanesOf(steps: TimedStep[], models: string[]): string[] {
  const busy = [...new Set(steps.map((step) => step.lane))];
  return busy.length > 0 ? busy.sort((a, b) => a.localeCompare(b, undefined, { numeric: true })) : models;
}

function draw(canvas: HTMLCanvasElement, lanes: string[], end: number): Box[] {
  const ratio = devicePixelRatio || 1;
  const width = canvas.clientWidth;
  const height = canvas.clientHeight;
  canvas.width = width * ratio;
  canvas.height = height * ratio;
  const context = canvas.getContext("2d")!;
  context.scale(ratio, ratio);
  const style = getComputedStyle(document.documentElement);
  const muted = style.getPropertyValue("--muted");
  context.font = "11px system-ui";
  context.fillStyle = muted;
  context.strokeStyle = style.getPropertyValue("--line");
  for (let ago = 0; ago <= kSeconds; ago += 2) {
    const x = width - (ago * width) / kSeconds;
    context.beginPath();
    context.moveTo(x, kTop);
    context.lineTo(x, height);
    context.stroke();
    context.textAlign = ago === 0 ? "right" : ago === kSeconds ? "left" : "center";
    context.fillText(ago === 0 ? "now" : `−${ago} s`, x, 12);
  }
  context.textAlign = "left";
  for (const [at, lane] of lanes.entries()) context.fillText(lane, 4, kTop + at * laneHeight(lanes) + 12);
  const boxes = layOut(history.steps, lanes, end, width);
  for (const box of boxes) {
    context.globalAlpha = box.slice?.[3] ? 1 : 0.55;
    context.fillStyle = box.slice ? colourOf(box.slice[1]) : muted;
    context.fillRect(box.x, box.y, box.width, Math.max(0.6, box.height - 0.5));
  }
  context.globalAlpha = 1;
  return boxes;
}

function Tip({ hover }: { hover: Hover }) {
  const { step, slice } = hover;
  const prompt = step.slices.filter((one) => one[3]).reduce((sum, one) => sum + one[2], 0);
  return (
    <div class="tip" role="status" style={{ left: `${hover.x}px`, top: `${hover.y}px` }}>
      {slice && (
        <p>
          <strong>{nameOf(slice[1])}</strong> {slice[3] ? `prompt, ${slice[2]} tokens` : "next token"}
          <br />
          <code>{slice[0]}</code>
        </p>
      )}
      <p>
        step of {step.lane}: {rowsOf(step)} rows, {prompt} of prompts, {step.slices.length} sequences
      </p>
      <p>
        plan {step.plan_ms.toFixed(2)} · run {step.run_ms.toFixed(1)} (expected {step.predicted_ms.toFixed(1)}
        ) · commit {step.commit_ms.toFixed(2)} ms
      </p>
      {step.preempted > 0 && <p>{step.preempted} preempted</p>}
    </div>
  );
}

/** What each step computed: width is time, height is rows, colour is the tenant, strong colour is a prompt. */
export function Timeline() {
  const canvas = useRef<HTMLCanvasElement>(null);
  const boxes = useRef<Box[]>([]);
  const [hover, setHover] = useState<Hover | null>(null);
  const seen = look.value;
  const lanes = lanesOf(
    history.steps,
    (seen?.models ?? []).filter((model) => model.counters).map((model) => model.name),
  );
  const colours = theme();
  useEffect(() => {
    if (seen && !document.hidden && !hover) boxes.current = draw(canvas.current!, lanes, seen.at_ms / 1000);
  }, [seen, colours, hover === null]);
  const pointTo = (box: Box | undefined, x: number, y: number) => {
    const limit = Math.max(0, canvas.current!.clientWidth - 290);
    setHover(box ? { x: Math.min(x + 12, limit), y: y + 14, step: box.step, slice: box.slice } : null);
  };
  const onMove = (event: MouseEvent) => {
    const { offsetX: x, offsetY: y } = event;
    const box = boxes.current.find(
      (b) => x >= b.x - 1 && x <= b.x + b.width + 1 && y >= b.y - 1 && y <= b.y + b.height,
    );
    pointTo(box, x, y);
  };
  // The arrows go from one box to the next; while one is pointed to, the picture stands still.
  const onKeyDown = (event: KeyboardEvent) => {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (event.key === "Escape") setHover(null);
    if (by === undefined) return;
    event.preventDefault();
    const all = boxes.current;
    const known = hover ? all.findIndex((b) => b.step === hover.step && b.slice === hover.slice) : all.length;
    const box = all[Math.min(all.length - 1, Math.max(0, known + by))];
    if (box) pointTo(box, box.x, box.y);
  };
  const tenants = [
    ...new Set(history.steps.slice(-400).flatMap((step) => step.slices.map((slice) => slice[1]))),
  ];
  return (
    <section class="card timeline" aria-labelledby="timeline-title">
      <header>
        <h2 id="timeline-title">Steps</h2>
        <p class="muted">
          width is time, height the rows; strong colour computes prompts, light colour next tokens
        </p>
        <ul class="legend">
          {tenants.map((tenant) => (
            <li key={tenant}>
              <svg class="swatch" viewBox="0 0 8 8" aria-hidden="true">
                <rect width="8" height="8" rx="2" fill={colourOf(tenant)} />
              </svg>
              {nameOf(tenant)}
            </li>
          ))}
        </ul>
      </header>
      <div class="canvas">
        <canvas
          ref={canvas}
          role="img"
          aria-label={`${history.steps.length} steps were recorded; the arrows go from one to the next`}
          data-steps={history.steps.length}
          data-lanes={lanes.join()}
          style={{ height: `${kTop + Math.max(1, lanes.length) * laneHeight(lanes)}px` }}
          onMouseMove={onMove}
          onMouseLeave={() => setHover(null)}
          onBlur={() => setHover(null)}
          onKeyDown={onKeyDown}
          tabIndex={0}
        />
        {hover && <Tip hover={hover} />}
        {history.steps.length === 0 && (
          <p class="muted nothing">Steps appear here as soon as a model computes.</p>
        )}
      </div>
    </section>
  );
}
