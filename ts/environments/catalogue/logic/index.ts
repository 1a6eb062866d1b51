/** The families of the category logic. */
import type { Family } from "../row.ts";
import { choices } from "./choices/index.ts";
import { deduction } from "./deduction/index.ts";
import { equationalDerivation } from "./equational-derivation/index.ts";
import { grids } from "./grids/index.ts";
import { games } from "./games/index.ts";
import { formalLanguages } from "./formal-languages/index.ts";
import { structures } from "./structures/index.ts";
import { planning } from "./planning/index.ts";

export const FAMILIES: readonly Family[] = [
  deduction,
  grids,
  games,
  planning,
  formalLanguages,
  choices,
  structures,
  equationalDerivation,
];
