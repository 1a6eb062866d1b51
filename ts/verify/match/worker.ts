/** The worker thread of `matchPattern` and `matchJsonSchema`. */
import { parentPort } from "node:worker_threads";

import { type NumberedJob, type NumberedResult, READY } from "../deadline-thread.ts";
import { type JsonProblem, SchemaError, validateJson } from "./json-schema.ts";

export type MatchJob =
  | {
      readonly kind: "pattern";
      readonly pattern: string;
      readonly flags: string;
      readonly mode: "part" | "whole";
      readonly text: string;
    }
  | { readonly kind: "schema"; readonly schema: unknown; readonly text: string };

export type MatchResult =
  | { readonly kind: "pattern"; readonly status: "ok" | "invalid_pattern"; readonly count: number }
  | { readonly kind: "schema"; readonly status: "ok" | "not_json"; readonly problems: readonly JsonProblem[] }
  | { readonly kind: "schema"; readonly status: "invalid_schema"; readonly message: string };

const MAX_PROBLEMS = 10;

parentPort?.on("message", ({ id, job }: NumberedJob<MatchJob>) => {
  const result = job.kind === "pattern" ? matchOf(job) : schemaOf(job);
  parentPort?.postMessage({ id, result } satisfies NumberedResult<MatchResult>);
});
parentPort?.postMessage(READY);

function matchOf({ pattern, flags, mode, text }: Extract<MatchJob, { kind: "pattern" }>): MatchResult {
  let expression: RegExp;
  try {
    const source = mode === "whole" ? `^(?:${pattern})$` : pattern;
    // `m` would let a whole match end at a line.
    expression = new RegExp(source, `g${[...new Set(`${flags}u`)].join("").replace(mode === "whole" ? "m" : "", "")}`);
  } catch {
    return { kind: "pattern", status: "invalid_pattern", count: 0 };
  }
  let count = 0;
  for (const _ of text.matchAll(expression)) count++;
  return { kind: "pattern", status: "ok", count };
}

function schemaOf({ schema, text }: Extract<MatchJob, { kind: "schema" }>): MatchResult {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { kind: "schema", status: "not_json", problems: [] };
  }
  try {
    return { kind: "schema", status: "ok", problems: validateJson(schema, value).slice(0, MAX_PROBLEMS) };
  } catch (error) {
    if (error instanceof SchemaError) return { kind: "schema", status: "invalid_schema", message: error.message };
    // A text that is nested deeper than the stack is nothing that a schema allows; references in circles are found before.
    if (error instanceof RangeError)
      return { kind: "schema", status: "ok", problems: [{ path: "", message: "is nested too deep" }] };
    throw error;
  }
}
