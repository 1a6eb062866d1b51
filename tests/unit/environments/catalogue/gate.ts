/** Runs the quality gate over a category: one test for each row. `near-duplicates.test.ts` compares the rows of all categories with each other. */
import { availableParallelism } from "node:os";

import { afterAll, describe, expect, test } from "vitest";

import { inspectBox } from "../../../../ts/environments/catalogue/gate/inspect-box.ts";
import { inspectProgram } from "../../../../ts/environments/catalogue/gate/inspect-program.ts";
import { inspectRow } from "../../../../ts/environments/catalogue/gate/inspect-row.ts";
import { inspectWorld } from "../../../../ts/environments/catalogue/gate/inspect-world.ts";
import type { RowReport } from "../../../../ts/environments/catalogue/gate/report.ts";
import { catalogueRows } from "../../../../ts/environments/catalogue/index.ts";
import { idOf } from "../../../../ts/environments/catalogue/row-environment.ts";
import {
  type AnyRow,
  type Category,
  isBoxRow,
  isProgramRow,
  isWorldRow,
  type Level,
  LEVELS,
} from "../../../../ts/environments/catalogue/row.ts";
import { SandboxSource } from "../../../../ts/environments/sandboxes/sandboxes.ts";
import { IS_LONG } from "../../../support/form.ts";

/** Instances of each level: few in every run, 50 in the long one. */
const PER_LEVEL = IS_LONG ? 50 : 6;
/** Of rows whose generators take a second or more for one: together they took a third of the time of all rows of code. */
const PER_LEVEL_OF_SLOW = IS_LONG ? 50 : 3;
const SLOW: ReadonlySet<string> = new Set([
  "code/repo-feature",
  "code/repo-issue-fix",
  "code/mini-language-interpreter",
  "code/unit-test-writer",
  "code/language-port",
  "code/heuristic-packing-program",
]);
/** Of rows with a world, whose scripts take longer than answers. */
const PER_LEVEL_OF_WORLDS = IS_LONG ? 50 : 4;
/** Instances of each of these levels whose programs run in sandboxes, and instances in all on which programs without the skill run. */
const SCORED = IS_LONG ? 50 : 1;
const SCORED_LEVELS: readonly Level[] = IS_LONG ? LEVELS : [1, 5];
const CHEATED = IS_LONG ? 20 : 1;
/** Instances of each level on which the gold program of another one runs. */
const FOREIGN = IS_LONG ? 50 : 1;
/** Near misses of an instance, and programs without the skill, that run there. Rows share most of the latter, which attack the harness. */
const MISSES = IS_LONG ? 3 : 1;
const CHEATS = IS_LONG ? 20 : 2;
/** Programs that speak to the grader, on one instance of a row: all of them in the long form. Rows share them, too. */
const INJECTIONS = IS_LONG ? 100 : 1;
/** Of rows with a held sandbox: instances of each of these levels whose scripts run, and slips and scripts without skill of one. */
const SCORED_BOXES = IS_LONG ? 5 : 1;
const SLIPS = IS_LONG ? 20 : 1;
const BLANKETS = IS_LONG ? 20 : 1;
/** Programs and scripts in sandboxes at once: one that is prepared while the others run keeps all processors busy. */
const AT_ONCE = availableParallelism() + 1;

/** `only`: a family, to divide a category among files. */
export async function gateOf(category: Category, only?: string): Promise<void> {
  const rows = (await catalogueRows([category])).filter(({ family }) => only === undefined || family === only);
  const sandboxes = new SandboxSource();
  const inspect = async (id: string, row: AnyRow): Promise<RowReport> => {
    const options = { perLevel: PER_LEVEL, seed: 1 };
    if (isWorldRow(row)) return inspectWorld(id, row, { ...options, perLevel: PER_LEVEL_OF_WORLDS });
    if (isBoxRow(row)) {
      const scripts = {
        scored: SCORED_BOXES,
        scoredLevels: SCORED_LEVELS,
        slips: SLIPS,
        blankets: BLANKETS,
        atOnce: AT_ONCE,
      };
      return inspectBox(id, row, { ...options, ...scripts, pool: await sandboxes.pool() });
    }
    if (!isProgramRow(row)) return inspectRow(id, row, options);
    const programs = {
      perLevel: SLOW.has(id) ? PER_LEVEL_OF_SLOW : PER_LEVEL,
      scored: SCORED,
      scoredLevels: SCORED_LEVELS,
      foreign: FOREIGN,
      cheated: CHEATED,
      misses: MISSES,
      cheats: CHEATS,
      injections: INJECTIONS,
      atOnce: AT_ONCE,
    };
    return inspectProgram(id, row, { ...options, ...programs, pool: await sandboxes.pool() });
  };
  afterAll(async () => sandboxes.close());
  describe(`the quality gate of ${only ?? category}`, () => {
    test.each(rows.map((placed) => [idOf(placed), placed] as const))("%s passes every probe", async (id, { row }) => {
      const report = await inspect(id, row);
      expect(report.failures).toEqual([]);
    });
  });
}
