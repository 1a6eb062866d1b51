/** What is wrong with a config, in words: zod's issues with file, line, key and the nearest valid key. */
import type { z } from "zod";
import { PrlError, type ErrorCode } from "../errors.ts";
import { describeOrigin, type ConfigTree, type Origin } from "./config-tree.ts";
import { formatFlag, formatPath, showValue, valueAt, type KeyPath } from "./key-path.ts";
import { entries, nodeOf, schemaAt, shapeOf, typeText } from "./schema-walk.ts";
import { hint, nearest } from "./suggest.ts";

type AnySchema = z.core.$ZodType;

export interface ConfigProblem {
  readonly code: ErrorCode;
  /** Whole message: where, which key, what, what to do. */
  readonly message: string;
}

/**
 * Throws all problems as one error, whose code is theirs when they agree.
 *
 * @throws PrlError when there is any
 */
export function throwProblems(problems: readonly ConfigProblem[]): void {
  const first = problems[0];
  if (first === undefined) return;
  if (problems.length === 1) throw new PrlError(first.code, first.message);
  const code = problems.every((problem) => problem.code === first.code) ? first.code : "PRL_CONFIG_INVALID";
  const lines = problems.map((problem) => `  ${problem.message}`).join("\n");
  throw new PrlError(code, `${problems.length} problems in the config:\n${lines}`);
}

/** `file:line: key: text`, with as much of it as is known. */
export function problemAt(origin: Origin | undefined, path: KeyPath, text: string): ConfigProblem {
  const where = origin === undefined || origin.kind === "default" ? "" : `${describeOrigin(origin)}: `;
  const code = origin?.kind === "environment" ? "PRL_CONFIG_ENVIRONMENT" : "PRL_CONFIG_INVALID";
  return { code, message: `${where}${path.length === 0 ? "" : `${formatPath(path)}: `}${text}` };
}

/** Zod's issues about the merged tree as problems; `fallback` is the origin of what is missing altogether. */
export function problemsOfIssues(
  issues: readonly z.core.$ZodIssue[],
  schema: AnySchema,
  tree: ConfigTree,
  fallback: Origin | undefined,
): ConfigProblem[] {
  return issues.flatMap((issue) => {
    const path = issue.path as (string | number)[];
    if (issue.code === "unrecognized_keys") {
      return issue.keys.map((key) => {
        const full = [...path, key];
        return problemAt(tree.originOf(full), full, `unknown key; ${keyHint(schema, full)}`);
      });
    }
    const origin = tree.originOf(path) ?? fallback;
    const value = valueAt(tree.root, path);
    if (value === undefined && issue.code !== "custom") {
      const missing = firstRequired(schema, path);
      return [problemAt(origin, missing, requiredText(schema, missing))];
    }
    return [problemAt(origin, path, wrongText(issue, schema, path, value))];
  });
}

/** What to write instead of an unknown key: the nearest sibling, the same key in another section, or all that is valid there. */
export function keyHint(schema: AnySchema, path: KeyPath): string {
  const key = String(path.at(-1));
  const parent = schemaAt(schema, path.slice(0, -1));
  const siblings = Object.keys((parent === undefined ? undefined : shapeOf(parent)) ?? {});
  if (nearest(key, siblings) !== null) return hint(key, siblings, "keys");
  const elsewhere = [...entries(schema)].find((entry) => entry.path.at(-1) === key);
  if (elsewhere !== undefined) return `did you mean "${elsewhere.path.join(".")}"?`;
  return hint(key, siblings, "keys");
}

function requiredText(schema: AnySchema, path: KeyPath): string {
  const found = schemaAt(schema, path);
  const description = found === undefined ? "" : nodeOf(found).description;
  const type = found === undefined ? "" : typeText(found);
  return `is required (${type}${description === "" ? "" : `: ${description}`}); set it in the file or with ${formatFlag(path)}`;
}

/** From a missing block down to the first key in it that has to be given. */
function firstRequired(schema: AnySchema, path: KeyPath): KeyPath {
  const found = schemaAt(schema, path);
  const shape = found === undefined ? undefined : shapeOf(found);
  const key = Object.entries(shape ?? {}).find(([, child]) => !nodeOf(child).optional)?.[0];
  return key === undefined ? path : firstRequired(schema, [...path, key]);
}

function wrongText(issue: z.core.$ZodIssue, schema: AnySchema, path: KeyPath, value: unknown): string {
  if (issue.code === "custom") return issue.message;
  const found = schemaAt(schema, path);
  const expected = found === undefined ? "" : typeText(found);
  if (issue.code === "invalid_type" || issue.code === "invalid_union")
    return `expected ${expected}, got ${showValue(value)}`;
  if (issue.code === "invalid_value") {
    const near = typeof value === "string" ? nearest(value, issue.values.map(String)) : null;
    return `expected ${expected}, got ${showValue(value)}${near === null ? "" : `; did you mean "${near}"?`}`;
  }
  const message = issue.message.replace(
    /^(Too (?:small|big)|Invalid (?:string|input)): expected \w+ to (?:be|have) /,
    "must be ",
  );
  return `${message}, got ${showValue(value)}`;
}
