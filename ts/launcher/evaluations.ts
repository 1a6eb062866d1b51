/** Evaluation of models behind endpoints: the part of the launcher that starts no processes. Nothing of it is public. */
export { evaluate, type EvalSummary, type EvaluateRunOptions } from "./run/evaluate.ts";
