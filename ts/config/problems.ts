/** Problems of a config as text: zod's issues with file, line, key and the nearest valid key. */
import { z } from "zod";
import { PrlError, type ErrorCode } from "../errors.ts";
import { describeOrigin, originIn, type Origin, type Provenance } from "./config-tree.ts";
import { formatFlag, formatPath, shorten, showValue, valueAt, type KeyPath, type Table } from "./keys/key-path.ts";
import { entries, nodeOf, schemaAt, shapeOf, typeText } from "./keys/schema-walk.ts";
import { hint, nearest, shallowest } from "./keys/suggest.ts";

type AnySchema = z.core.$ZodType;

export interface ConfigProblem {
  readonly code: ErrorCode;
  /** Whole message: where, which key, what, what to do. */
  readonly message: string;
  /** Number of problems that it represents; absent: one. */
  readonly count?: number;
}

/** Most problems that are listed; the others show when these are repaired. */
const MOST_SHOWN = 20;

/**
 * Throws all problems as one error; its code is theirs when they agree.
 *
 * @throws PrlError when there is any
 */
export function throwProblems(problems: readonly ConfigProblem[]): void {
  const first = problems[0];
  if (first === undefined) return;
  if (problems.length === 1) throw new PrlError(first.code, first.message);
  const total = problems.reduce((sum, { count = 1 }) => sum + count, 0);
  const code = problems.every((problem) => problem.code === first.code) ? first.code : "PRL_CONFIG_INVALID";
  const lines = fewOf(problems)
    .map((problem) => `  ${problem.message}`)
    .join("\n");
  throw new PrlError(code, `${total} problems in the config:\n${lines}`);
}

/** The first problems, and the number of the others. */
function fewOf(problems: readonly ConfigProblem[]): readonly ConfigProblem[] {
  if (problems.length <= MOST_SHOWN + 1) return problems;
  const rest = problems.slice(MOST_SHOWN).reduce((sum, { count = 1 }) => sum + count, 0);
  return [...problems.slice(0, MOST_SHOWN), andMore(rest)];
}

function andMore(count: number): ConfigProblem {
  return { code: "PRL_CONFIG_INVALID", message: `... and ${count} more`, count };
}

/** `file:line: key: text`, with as much of it as is known. */
export function problemAt(origin: Origin | undefined, path: KeyPath, text: string): ConfigProblem {
  const where = origin === undefined || origin.kind === "default" ? "" : `${describeOrigin(origin)}: `;
  const code = origin?.kind === "environment" ? "PRL_CONFIG_ENVIRONMENT" : "PRL_CONFIG_INVALID";
  return { code, message: `${where}${path.length === 0 ? "" : `${shorten(formatPath(path))}: `}${text}` };
}

/** One of zod's issues; an issue about several unknown keys becomes one for each key. */
interface SingleIssue {
  readonly issue: z.core.$ZodIssue;
  readonly key: string | null;
}

/** The values that an issue is about. */
export interface CheckedTree {
  readonly schema: AnySchema;
  readonly tree: { readonly root: unknown; originOf(path: KeyPath): Origin | undefined };
  /** The origin of missing keys. */
  readonly fallback?: Origin | undefined;
  /** The place of the tree in the config. */
  readonly prefix?: KeyPath;
  /** How a missing key is given; default: in the file, or as a flag. */
  readonly adviceFor?: (key: KeyPath) => string;
}

/** Zod's issues about a tree as problems. */
export function problemsOfIssues(issues: readonly z.core.$ZodIssue[], checked: CheckedTree): ConfigProblem[] {
  const { schema, tree, fallback, prefix = [], adviceFor = setIt } = checked;
  // A hint compares a key with every other key, so only listed problems get one.
  const single = issues.flatMap((issue): SingleIssue[] =>
    issue.code === "unrecognized_keys" ? issue.keys.map((key) => ({ issue, key })) : [{ issue, key: null }],
  );
  const shown = single.slice(0, MOST_SHOWN).map(({ issue, key }) => {
    const path = issue.path as (string | number)[];
    if (key !== null) {
      const full = [...path, key];
      return problemAt(tree.originOf(full), [...prefix, ...full], `unknown key; ${keyHint(schema, full)}`);
    }
    const origin = tree.originOf(path) ?? fallback;
    const value = valueAt(tree.root, path);
    if (value === undefined && issue.code !== "custom") {
      const missing = firstRequired(schema, path);
      return problemAt(
        origin,
        [...prefix, ...missing],
        requiredText(schema, missing, adviceFor([...prefix, ...missing])),
      );
    }
    return problemAt(origin, [...prefix, ...path], wrongText(issue, schema, path, value));
  });
  return single.length > MOST_SHOWN ? [...shown, andMore(single.length - MOST_SHOWN)] : shown;
}

/**
 * Checks settings with a separate schema, such as an environment's `args`, which are at `at`.
 *
 * @throws PrlError PRL_CONFIG_INVALID naming each wrong key as a key of the config
 */
export function checkSettings(
  schema: AnySchema,
  settings: Table,
  at: KeyPath,
  provenance: Provenance | undefined,
): void {
  const parsed = z.safeParse(schema, settings);
  if (parsed.success) return;
  const originOf = (path: KeyPath): Origin | undefined => originIn(provenance, [...at, ...path]);
  const tree = { root: settings, originOf };
  // The flags of the config take these keys as they are written.
  const adviceFor = (key: KeyPath): string => {
    return `set it in the file or with ${[formatFlag(at), ...key.slice(at.length)].join(".")}`;
  };
  const problems = problemsOfIssues(parsed.error.issues, { schema, tree, prefix: at, adviceFor });
  throwProblems(problems.map((problem) => ({ ...problem, code: "PRL_CONFIG_INVALID" })));
}

/** Advice for an unknown key: the nearest sibling, the same key in another section, or all keys that are valid there. */
export function keyHint(schema: AnySchema, path: KeyPath): string {
  const key = String(path.at(-1));
  const parent = schemaAt(schema, path.slice(0, -1));
  const siblings = Object.keys((parent === undefined ? undefined : shapeOf(parent)) ?? {});
  if (nearest(key, siblings) !== null) return hint(key, siblings, "keys");
  const places = [...entries(schema)].map((entry) => entry.path.join("."));
  const whole = parent === undefined ? nearest(path.join("."), places) : null;
  const elsewhere = whole ?? shallowest(places, key);
  if (elsewhere !== undefined) return `did you mean "${elsewhere}"${elsewhere === key ? " at the top" : ""}?`;
  return hint(key, siblings.length > 0 ? siblings : Object.keys(shapeOf(schema) ?? {}), "keys");
}

function setIt(key: KeyPath): string {
  return `set it in the file or with ${formatFlag(key)}`;
}

/** The problem of a key that is missing, with its type, its meaning and what to do. */
export function requiredText(schema: AnySchema, path: KeyPath, advice: string): string {
  const found = schemaAt(schema, path);
  const description = found === undefined ? "" : nodeOf(found).description;
  const type = found === undefined ? "" : typeText(found);
  return `is required (${type}${description === "" ? "" : `: ${description}`}); ${advice}`;
}

/** The first required key inside a missing block. */
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
  if (typeof value === "number" && !Number.isFinite(value)) return `expected a finite ${expected}, got ${value}`;
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
