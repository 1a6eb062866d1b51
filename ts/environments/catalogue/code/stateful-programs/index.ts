/** Programs that keep a state by described rules over long sequences of operations. */
import type { Family, ProgramRow } from "../../row.ts";
import { cachePolicyReplay } from "./cache-policy-replay.ts";

export const statefulPrograms: Family<ProgramRow> = { id: "stateful-programs", rows: [cachePolicyReplay] };
