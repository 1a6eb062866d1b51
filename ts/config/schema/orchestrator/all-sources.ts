/** The sources of a run as its env workers have them: those of training, then those of evaluations. */
import type { RlConfig } from "../index.ts";

type Env = RlConfig["orchestrator"]["train"]["source"][number]["env"];

export interface WorkerSource {
  name: string;
  split: "train" | "eval";
  env: Env;
}

export function allSources({
  train,
  eval: evaluation,
}: Pick<RlConfig["orchestrator"], "train" | "eval">): WorkerSource[] {
  return [
    ...train.source.map(({ name, env }) => ({ name, split: "train" as const, env })),
    ...(evaluation?.source ?? []).map(({ name, env }) => ({ name, split: "eval" as const, env })),
  ];
}
