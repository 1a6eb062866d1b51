/** Worlds made of records: their names, access to them, and how a final state is compared with the goal. */
import { z } from "zod";

import { canonicalJson } from "../../../canonical-json.ts";
import type { Rng } from "../../../random/rng.ts";
import { distinct } from "../../builtin/words.ts";
import { type Call, Refusal } from "../row.ts";

/** One argument that names a record. */
export const recordName = z.string().max(40);
/** Most records in one call. */
export const MOST_NAMES = 20;
export const recordNames = z.array(recordName).min(1).max(MOST_NAMES);

/** Different names such as `mail-4821`; no order is in them. */
export function namesOf(kind: string, count: number, rng: Rng): string[] {
  return distinct(count, () => `${kind}-${1000 + rng.integer(9000)}`);
}

/** The record with this name. Throws Refusal. */
export function recordOf<Item extends { readonly id: string }>(items: readonly Item[], id: string, kind: string): Item {
  const item = items.find((one) => one.id === id);
  if (item === undefined) throw new Refusal(`there is no ${kind} ${id}`);
  return item;
}

/** Values by name, as a world is compared. */
export type Facts = Readonly<Record<string, unknown>>;

/**
 * Share of the necessary changes that were made, less every other change: (right - wrong) / necessary, at least 0. It is 1 only where
 * `after` equals `goal`.
 */
export function changedShare(before: Facts, goal: Facts, after: Facts): number {
  const text = (facts: Facts, key: string): string => canonicalJson(Object.hasOwn(facts, key) ? facts[key] : null);
  let [necessary, right, wrong] = [0, 0, 0];
  for (const key of new Set([before, goal, after].flatMap((facts) => Object.keys(facts)))) {
    const [was, wanted, is] = [text(before, key), text(goal, key), text(after, key)];
    if (was !== wanted) necessary += 1;
    if (is === wanted && was !== wanted) right += 1;
    if (is !== wanted && is !== was) wrong += 1;
  }
  return necessary === 0 ? 0 : Math.max(0, (right - wrong) / necessary);
}

/** The part of a share that is above what a policy without the skill gets. */
export function aboveBase(share: number, base: number): number {
  return base >= 1 ? 0 : Math.max(0, (share - base) / (1 - base));
}

export function call(tool: string, args: Call["args"] = {}): Call {
  return { tool, args };
}

/** The items in lists of at most `size`. */
export function batches<Item>(items: readonly Item[], size: number): Item[][] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, index) =>
    items.slice(index * size, (index + 1) * size),
  );
}

/** One page of a list, and where the next one begins. */
export function pageOf<Item>(
  items: readonly Item[],
  from: number,
  size: number,
): { items: Item[]; next: number | null } {
  return { items: items.slice(from, from + size), next: from + size < items.length ? from + size : null };
}

/** The first item of a page. */
export const pageStart = z.object({ from: z.int().min(0).max(10_000).describe("number of the first entry, from 0") });
