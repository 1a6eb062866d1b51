/**
 * A long run in virtual time, without faults: nothing grows but the history of its steps. A day in the long form, twenty minutes in the short one.
 */
import { beforeAll, expect, test } from "vitest";

import { type Footprint, footprint, growth } from "./footprint.ts";
import { observeAddon } from "./parts/machine.ts";
import { simulate } from "./simulate.ts";
import { IS_LONG } from "../support/form.ts";

const TEST = { timeout: IS_LONG ? 7_200_000 : 300_000 };
const HOURS = IS_LONG ? 24 : 1 / 3;
/** At this pace a step takes about so long. */
const PACE = 100;
const STEP_MS = 4_000;
const LOOKS = 12;
/** Code that is compiled meanwhile. A promise left behind by each poll of one process came to 3 MiB in the short form. */
const MOST_HEAP_MIB = IS_LONG ? 8 : 1.5;

beforeAll(observeAddon);

test("memory, descriptors, threads and files are no more at the end than after a third of the time", TEST, async () => {
  const durationMs = HOURS * 3_600_000;
  const seen: Footprint[] = [];
  const { violations, starts } = await simulate(1, {
    shape: { level: 1, steps: Math.round(durationMs / STEP_MS), servers: 2, groupSize: 4, interval: 10 },
    faults: [],
    pace: PACE,
    keptBatches: 20,
    watch: { everyMs: durationMs / LOOKS, look: (runDir) => seen.push(footprint(runDir)) },
  });
  if (IS_LONG) process.stdout.write(`${seen.map((one) => JSON.stringify(one)).join("\n")}\n`);
  expect({ violations, starts }).toEqual({ violations: [], starts: 1 });
  expect(growth(seen, MOST_HEAP_MIB)).toEqual([]);
});
