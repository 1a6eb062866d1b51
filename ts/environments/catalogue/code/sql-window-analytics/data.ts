/** Hidden tables. Each kind is where another mistake shows: days and values that tie, missing values, days far apart, and all of it. */
import { between, shuffled } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import { DOMAINS } from "./domains.ts";
import type { Row } from "./spec.ts";

interface Shape {
  readonly rows: number;
  readonly days: number;
  readonly values: number;
  /** One value of so many is missing. */
  readonly missing: number;
  readonly owners: number;
}

const SHAPES = {
  ties: { rows: 18, days: 6, values: 4, missing: 12, owners: 2 },
  missing: { rows: 18, days: 20, values: 30, missing: 3, owners: 3 },
  gaps: { rows: 18, days: 45, values: 60, missing: 12, owners: 4 },
  mixed: { rows: 28, days: 16, values: 12, missing: 6, owners: 3 },
} as const satisfies Record<string, Shape>;
export type DataKind = keyof typeof SHAPES;
export const DATA_KINDS = Object.keys(SHAPES) as DataKind[];

/** Ids say nothing about days. */
export function tableOf(domain: number, kind: DataKind, rng: Rng): Row[] {
  const { states, owners } = at(DOMAINS, domain);
  const shape: Shape = SHAPES[kind];
  const some = owners.slice(0, shape.owners);
  const ids = shuffled(range(shape.rows), rng);
  return ids.map((id) => ({
    id: id + 1,
    owner: rng.pick(some),
    day: between(rng, 1, shape.days),
    state: rng.pick(states),
    value: rng.integer(shape.missing) === 0 ? null : between(rng, 1, shape.values),
  }));
}
