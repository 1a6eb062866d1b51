/** Programs that simulate described machines, schedulers and services. */
import type { Family, ProgramRow } from "../../row.ts";
import { liftTrips } from "./lift-trips.ts";
import { replicaMerge } from "./replica-merge.ts";
import { requestLimits } from "./request-limits.ts";
import { retryQueue } from "./retry-queue.ts";
import { stackMachine } from "./stack-machine.ts";
import { timeSlices } from "./time-slices.ts";

export const machines: Family<ProgramRow> = {
  id: "machines",
  rows: [timeSlices, requestLimits, stackMachine, liftTrips, retryQueue, replicaMerge],
};
