/** What compilers work out: SSA form, aliases, registers, schedules, parse trees. */
import type { Family } from "../../row.ts";
import { ambiguousString } from "./ambiguous-string.ts";
import { instructionSchedule } from "./instruction-schedule.ts";
import { phiPlacement } from "./phi-placement.ts";
import { pipelineCycles } from "./pipeline-cycles.ts";
import { pointsToSets } from "./points-to-sets.ts";
import { registerAssignment } from "./register-assignment.ts";

export const compiling: Family = {
  id: "compiling",
  rows: [phiPlacement, pointsToSets, registerAssignment, instructionSchedule, pipelineCycles, ambiguousString],
};
