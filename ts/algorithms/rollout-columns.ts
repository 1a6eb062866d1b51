/**
 * Columns beside the rewards (lengths, agents, ...): they are checked against the rewards' shape and cut down to the rollouts whose
 * reward is valid, so that an estimator sees only rollouts that count.
 */
import { PrlError } from "../errors.ts";
import type { RewardGroups } from "./advantages.ts";
import type { ResolvedAdvantageParams } from "./params.ts";

const COLUMNS = ["lengths", "input_tokens", "turns", "agents", "subgroups"] as const;

/** `params` with every column cut down to the rollouts of `rewards` that are not NaN. Throws PRL_ADVANTAGE_INPUT when a shape differs. */
export function validColumns(
  name: string,
  rewards: RewardGroups,
  params: ResolvedAdvantageParams,
): ResolvedAdvantageParams {
  const cut = { ...params };
  const keep = <T>(key: string, column: readonly (readonly T[])[]): T[][] => validEntries(name, key, rewards, column);
  for (const key of COLUMNS) {
    const column = params[key];
    if (column !== undefined) Object.assign(cut, { [key]: keep<string | number | null>(key, column) });
  }
  if (params.components !== undefined) {
    const entries = Object.entries(params.components);
    cut.components = Object.fromEntries(entries.map(([key, column]) => [key, keep(`components.${key}`, column)]));
  }
  return cut;
}

/** A column that the estimator cannot do without. Throws PRL_ADVANTAGE_INPUT when it was not given. */
export function requiredColumn<T>(name: string, key: string, column: T | undefined): T {
  if (column !== undefined) return column;
  throw new PrlError("PRL_ADVANTAGE_INPUT", `advantages "${name}" need params.${key}, one entry per reward`);
}

function validEntries<T>(name: string, key: string, rewards: RewardGroups, column: readonly (readonly T[])[]): T[][] {
  const fits = column.length === rewards.length && column.every((group, g) => group.length === rewards[g]?.length);
  if (!fits) {
    const message = `advantages "${name}": params.${key} must have the shape of the rewards, one entry per rollout`;
    throw new PrlError("PRL_ADVANTAGE_INPUT", message);
  }
  return column.map((group, g) => group.filter((_, i) => !Number.isNaN(rewards[g]?.[i])));
}
