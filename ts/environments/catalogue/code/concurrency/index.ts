/** Threads, locks and messages: outcomes and schedules, which a search over all interleavings decides. */
import type { Family } from "../../row.ts";
import { deadlockSchedule } from "./deadlock-schedule.ts";
import { happenedBefore } from "./happened-before.ts";
import { raceToValue } from "./race-to-value.ts";
import { reachableOutcomes } from "./reachable-outcomes.ts";

export const concurrency: Family = {
  id: "concurrency",
  rows: [reachableOutcomes, raceToValue, deadlockSchedule, happenedBefore],
};
