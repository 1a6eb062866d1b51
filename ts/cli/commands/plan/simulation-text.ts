/** A simulated curve as text: a row for each number of GPUs, then where it saturates, what is assumed and what does not fit. */
import { formatCount, formatSeconds, renderTable } from "../../../monitors/index.ts";
import type { Curve, Limit, SimulatedPoint } from "../../../simulation/index.ts";
import { bullet } from "./text.ts";

const HEADER = [
  "GPUs",
  "trainer + servers",
  "rollouts",
  "step",
  "tokens/s",
  "per GPU",
  "trainer",
  "servers",
  "filled",
  "weights",
  "env workers",
  "orchestrator",
  "limit",
];

const LIMITS: Record<Limit, string> = {
  trainer: "trainer",
  inference: "inference",
  weights: "weight broadcast",
  env_workers: "env workers",
  orchestrator: "orchestrator CPU",
  waits: "waits",
};

const MEANING = [
  "tokens/s are those of trained batches. trainer, env workers: share of the time in which they work; servers: in which they sample;",
  "filled: sequences that run, of those that the servers hold; weights: share of the time in which a version is on its way; orchestrator:",
  "CPU seconds in a second. limit is the part with at least 0.7; waits: none has, because steps wait for the longest rollouts, or trainer",
  "and servers for one another.",
];

export function curveLines({ points, saturated_at: saturated, assumptions }: Curve): string[] {
  const rows = points.flatMap(rowOf);
  return [
    ...(rows.length === 0 ? [] : [...renderTable(HEADER, rows), "", ...MEANING, ""]),
    ...(rows.length === 0 ? [] : [saturationLine(points, saturated), ""]),
    "Assumed",
    ...assumptions.flatMap(bullet),
    ...unfit(points),
  ];
}

function rowOf(point: SimulatedPoint): string[][] {
  const { gpus, trainer_gpus: trainer, servers, batch_rollouts: batch, measures, loads, limit } = point;
  const { tokens_per_second: tokens, step_seconds: step } = point;
  if (measures === null || loads === null || limit === null || tokens === null || step === null) return [];
  return [
    [
      formatCount(gpus),
      `${trainer} + ${servers}`,
      formatCount(batch),
      formatSeconds(step),
      formatCount(Math.round(tokens)),
      formatCount(Math.round(tokens / gpus)),
      percent(loads.trainer),
      percent(measures.sampling),
      percent(loads.inference),
      percent(loads.weights),
      percent(loads.env_workers),
      percent(loads.orchestrator),
      LIMITS[limit],
    ],
  ];
}

function percent(share: number): string {
  return `${(share * 100).toFixed(share < 0.1 ? 1 : 0)} %`;
}

function saturationLine(points: readonly SimulatedPoint[], saturated: number | null): string {
  if (saturated === null) return "It does not saturate within these numbers of GPUs.";
  const limit = points.find(({ gpus }) => gpus === saturated)?.limit ?? "waits";
  const why = limit === "waits" ? "no part works all the time" : `the limit is the ${LIMITS[limit]}`;
  return `It saturates at ${formatCount(saturated)} GPUs: each brings less than two thirds of what one brings at best; ${why}.`;
}

function unfit(points: readonly SimulatedPoint[]): string[] {
  const found = points.flatMap(({ gpus, problems }) =>
    problems.map((problem) => `${formatCount(gpus)} GPUs: ${problem}`),
  );
  return found.length === 0 ? [] : ["", "Does not fit", ...found.flatMap(bullet)];
}
