/** Exports of the verifiers for prl itself, which no package may rely on: those of benchmarks, and of the model of environments. */
export { type Instruction } from "./instructions/arguments.ts";
export { instructionVerdict, type InstructionVerdict } from "./instructions/check-instruction.ts";
export { EUROPEAN_CAPITALS } from "./instructions/ifbench-custom.ts";
export { sentences } from "./instructions/text-units.ts";
export { judgeChoice } from "./judge-choice.ts";
export { type ExactJson, parseExactJson } from "./program/exact-json.ts";
export { stripThinking } from "./strip-thinking.ts";
