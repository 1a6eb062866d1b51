/** Whether a reply follows a verifiable instruction. */
import { z } from "zod";

import { PrlError } from "../../errors.ts";
import { checkOptions, only } from "../../options.ts";
import { Arguments, type Instruction, type InstructionArguments } from "./arguments.ts";
import { IFBENCH, IFBENCH_WITH_MODELS } from "./ifbench.ts";
import { IFEVAL } from "./ifeval.ts";

export interface InstructionVerdict {
  strict: boolean;
  /** Also accept the reply when it follows the instruction without its first line, its last line, both, or asterisks. */
  loose: boolean;
}

/** The ids that `checkInstruction` knows. */
export const INSTRUCTION_IDS: readonly string[] = [...Object.keys(IFEVAL), ...Object.keys(IFBENCH)];

const optionsSchema = only<{ prompt?: string }>({ prompt: z.string().optional() });
const INSTRUCTIONS = { ...IFEVAL, ...IFBENCH };
/** Instructions whose argument is the prompt, unless it is given. */
const REPEATING: ReadonlySet<string> = new Set([
  "combination:repeat_prompt",
  "repeat:repeat_change",
  "repeat:repeat_span",
]);

/**
 * `kwargs` are the instruction's arguments under IFEval's and IFBench's names. An empty reply follows nothing.
 *
 * Errors: PRL_VERIFY_OPTIONS for an unknown id or a missing or wrong argument, PRL_VERIFY_UNSUPPORTED for an instruction that only a
 * model can check.
 */
export function checkInstruction(
  id: string,
  kwargs: InstructionArguments,
  response: string,
  options: { prompt?: string } = {},
): InstructionVerdict {
  checkOptions("PRL_VERIFY_OPTIONS", "checkInstruction", optionsSchema, options);
  const { prompt } = options;
  const instruction = Object.hasOwn(INSTRUCTIONS, id) ? INSTRUCTIONS[id] : undefined;
  if (IFBENCH_WITH_MODELS.has(id)) {
    throw new PrlError("PRL_VERIFY_UNSUPPORTED", `instruction ${id} needs a model of the language to be checked`);
  }
  if (instruction === undefined) {
    const message = `instruction ${JSON.stringify(id)} is not known; known are ${INSTRUCTION_IDS.join(", ")}`;
    throw new PrlError("PRL_VERIFY_OPTIONS", message);
  }
  const repeated = REPEATING.has(id) && kwargs["prompt_to_repeat"] === undefined && prompt !== undefined;
  const args = repeated ? { ...kwargs, prompt_to_repeat: prompt } : kwargs;
  return instructionVerdict(instruction, { id, args, prompt }, response);
}

/** The verdict of one check. `id` is for messages. */
export function instructionVerdict(
  instruction: Instruction,
  { id, args, prompt }: { id: string; args: InstructionArguments; prompt: string | undefined },
  response: string,
): InstructionVerdict {
  const read = new Arguments(id, args, prompt);
  const follows = (text: string): boolean => instruction(text, read) && text.trim() !== "";
  const strict = follows(response);
  return { strict, loose: strict || variants(response).some(follows) };
}

function variants(response: string): string[] {
  const lines = response.split("\n");
  const cuts = [response, lines.slice(1), lines.slice(0, -1), lines.slice(1, -1)].map((part) =>
    typeof part === "string" ? part : part.join("\n").trim(),
  );
  return [...cuts, ...cuts.map((text) => text.replaceAll("*", ""))];
}
