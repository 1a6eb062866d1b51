/** What benchmarks take of the verifiers, and no package may rely on. */
export { type Instruction } from "./instructions/arguments.ts";
export { instructionVerdict, type InstructionVerdict } from "./instructions/check-instruction.ts";
export { EUROPEAN_CAPITALS } from "./instructions/ifbench-custom.ts";
export { sentences } from "./instructions/text-units.ts";
export { type ExactJson, parseExactJson } from "./program/exact-json.ts";
