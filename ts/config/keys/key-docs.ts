/** The documentation of every key, read from the schema. */
import type { z } from "zod";

import { inputSchemas, SHARED_KEYS, type ConfigKind } from "../schema/index.ts";
import { entries, shapeOf, typeText } from "./schema-walk.ts";

export interface KeyDescription {
  /** Dotted; elements of lists are `<i>`. */
  readonly key: string;
  /** The section of the key; empty at the top. */
  readonly section: string;
  readonly type: string;
  /** As written in TOML, "required", or "unset". */
  readonly fallback: string;
  readonly description: string;
  /** True for a block: its keys follow, and `description` describes the whole. */
  readonly isBlock: boolean;
}

/** All keys in the order of the schema; the sections' own copies of shared keys are left out. */
export function describeKeys(kind: ConfigKind): KeyDescription[] {
  const shared = Object.entries(SHARED_KEYS[kind]).flatMap(([key, sections]) =>
    sections.flatMap((section) => [`${section}.${key}`, `${section}.${key.split(".")[0]}`]),
  );
  return describeSchema(inputSchemas[kind]).filter(({ key }) => !shared.includes(key));
}

/** All keys of any schema of a table, such as an environment's arguments. */
export function describeSchema(root: z.core.$ZodType): KeyDescription[] {
  return [...entries(root)].map(({ path, schema, node }) => ({
    key: path.join("."),
    section: path.slice(0, -1).join("."),
    type: typeText(schema),
    fallback: fallbackText(node.optional, node.defaultValue),
    description: node.description,
    isBlock: shapeOf(schema) !== undefined,
  }));
}

function fallbackText(optional: boolean, value: unknown): string {
  if (!optional) return "required";
  if (value === undefined || value === null) return "unset";
  if (typeof value === "object" && !Array.isArray(value)) return "{}";
  return JSON.stringify(value);
}
