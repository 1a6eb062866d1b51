/**
 * Writes one line to a process's log for each step with metrics, so that `prl logs -f` and `prl tmux` show a live run. The
 * numbers themselves go to `metrics.jsonl` as before; these lines are only for reading.
 */
import type { Metrics, MetricValues } from "./metrics.ts";
import { formatCount, formatNumber, formatSeconds } from "../progress/number-format.ts";

type Format = (value: number) => string;

/** The parts of a component's line: label, metric, format. A missing metric is left out. */
const FIELDS: Readonly<Record<string, readonly (readonly [label: string, metric: string, format: Format])[]>> = {
  trainer: [
    ["", "time/step", formatSeconds],
    ["Loss", "loss/mean", formatNumber],
    ["Entropy", "entropy/all/mean", formatNumber],
    ["Mismatch KL", "mismatch_kl/all/mean", formatNumber],
    ["Grad norm", "optim/grad_norm", formatNumber],
    ["LR", "optim/lr", (value) => value.toPrecision(3)],
    ["Tokens/s", "perf/throughput", formatCount],
    ["Staleness", "off_policy/tokens/mean", (value) => formatNumber(value, 2)],
  ],
  orchestrator: [
    ["", "time/step", formatSeconds],
    ["Reward", "train/agg/all/agent/reward/mean", formatNumber],
    ["Rollouts", "batch/rollouts", formatCount],
    ["Tokens", "batch/tokens", formatCount],
    ["In flight", "dispatcher/inflight/train", formatCount],
    ["Errors", "train/agg/all/has_error/mean", (value) => formatNumber(value, 2)],
  ],
  sft: [
    ["", "time/step", formatSeconds],
    ["Loss", "loss/mean", formatNumber],
    ["Val loss", "val/loss", formatNumber],
    ["LR", "optim/lr", (value) => value.toPrecision(3)],
    ["Tokens/s", "perf/throughput", formatCount],
  ],
};
const EVALUATION_REWARD = /^eval\/(.+)\/all\/agent\/reward\/mean$/;

/** `Step 12 | 0.41s | Loss ...`, a line per evaluated source, or none for values that are of neither. */
export function stepLogLines(component: string, step: number, values: MetricValues): string[] {
  const evaluated = Object.entries(values).flatMap(([name, value]) => {
    const [, source] = EVALUATION_REWARD.exec(name) ?? [];
    if (source === undefined || typeof value !== "number") return [];
    return [`Evaluated ${source} | Policy v${step} | Reward ${formatNumber(value)}`];
  });
  if (evaluated.length > 0) return evaluated;
  const fields = (FIELDS[component] ?? []).flatMap(([label, metric, format]) => {
    const value = values[metric];
    return typeof value === "number" ? [`${label} ${format(value)}`.trim()] : [];
  });
  return fields.length === 0 ? [] : [[`Step ${step}`, ...fields].join(" | ")];
}

/** `metrics`, with a line of the log for each step. */
export function logSteps(component: string, metrics: Metrics, write: (text: string) => void): Metrics {
  return {
    ...metrics,
    log(step, values) {
      metrics.log(step, values);
      for (const line of stepLogLines(component, step, values)) write(`${line}\n`);
    },
  };
}
