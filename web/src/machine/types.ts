export interface Counters {
  steps: number;
  prefill_tokens: number;
  decode_tokens: number;
  cached_tokens: number;
  output_tokens: number;
  preemptions: number;
  finished: number;
  failed: number;
  aborted: number;
  step_s: number;
}

/** Of the requests of a model, since the start. */
export interface Totals {
  completed: number;
  failed: number;
  aborted: number;
  prompt_tokens: number; // computed
  cached_tokens: number;
  output_tokens: number;
}

/** Request, tenant, rows, 1 for rows of a prompt. */
export type Slice = [string, string, number, 0 | 1];

export interface Step {
  n: number;
  worker?: string; // where it is not this process
  ago_ms: number;
  plan_ms: number;
  run_ms: number;
  commit_ms: number;
  predicted_ms: number;
  preempted: number;
  other_rows: number;
  slices: Slice[];
}

export interface Sequence {
  id: string;
  tenant: string;
  priority: number;
  state: "running" | "waiting" | "held";
  prompt: number;
  cached: number;
  computed: number;
  output: number;
  max_output: number;
  blocks: number;
  age_ms: number;
}

export interface Report {
  blocks: number;
  free_blocks: number;
  cached_blocks: number;
  running: number;
  waiting: number;
  progressing: boolean;
}

/** A worker of the fleet, as the gateway that is asked sees it. */
export interface Worker {
  id: string;
  address: string;
  model: string;
  build: string;
  state: "ready" | "draining" | "connecting" | "refused" | "leaving" | "ejected" | "distrusted";
  reason?: string;
  leases?: number; // requests of this gateway
  report?: Report; // while it is in a pool
}

export interface Upstream {
  label: string;
  model: string;
  state: "ready" | "down" | "ejected";
  in_flight: number;
  load: number;
  most: number; // requests at a time
}

export interface MachineModel {
  name: string;
  state: string;
  progress?: number;
  reason?: string;
  pinned?: boolean; // named at the start
  memory?: number; // bytes, once it is ready
  context?: number;
  task?: string;
  report?: Report;
  counters?: Counters;
  totals?: Totals;
  ttft?: number[];
  tpot?: number[];
  itl?: number[];
  queue?: Record<string, number>; // who waits, by priority
  goodput?: Record<string, number | null>;
  steps?: Step[];
  sequences?: Sequence[];
}

export interface Look {
  at_ms: number;
  models: MachineModel[];
  workers: Worker[]; // elsewhere
  upstreams: Upstream[];
  model_memory: number; // bytes that all models may take; 0: not known
  lobby: number;
  refusals: Record<string, number>;
}

export interface Constants {
  version: string;
  block_tokens: number;
  latency_bounds: number[];
}
