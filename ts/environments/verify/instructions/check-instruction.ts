/** Whether a reply follows a verifiable instruction. */
import { PrlError } from "../../../errors.ts";
import { Arguments, IFEVAL, type InstructionArguments } from "./ifeval.ts";

export interface InstructionVerdict {
  strict: boolean;
  /** Strict, or followed when the first line, the last line, both, or asterisks are left out. */
  loose: boolean;
}

/** The ids that `checkInstruction` knows. */
export const INSTRUCTION_IDS: readonly string[] = Object.keys(IFEVAL);

/**
 * `kwargs` are the instruction's arguments under IFEval's names. An empty reply follows nothing.
 *
 * Errors: PRL_VERIFY_OPTIONS for an unknown id or a missing or wrong argument.
 */
export function checkInstruction(
  id: string,
  kwargs: InstructionArguments,
  response: string,
  { prompt }: { prompt?: string } = {},
): InstructionVerdict {
  const instruction = Object.hasOwn(IFEVAL, id) ? IFEVAL[id] : undefined;
  if (instruction === undefined) {
    const message = `instruction ${JSON.stringify(id)} is not known; known are ${INSTRUCTION_IDS.join(", ")}`;
    throw new PrlError("PRL_VERIFY_OPTIONS", message);
  }
  const repeated =
    id === "combination:repeat_prompt" && kwargs["prompt_to_repeat"] === undefined && prompt !== undefined;
  const args = new Arguments(id, repeated ? { ...kwargs, prompt_to_repeat: prompt } : kwargs, prompt);
  const follows = (text: string): boolean => instruction(text, args) && text.trim() !== "";
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
