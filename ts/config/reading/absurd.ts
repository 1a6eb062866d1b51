/** Finds values of the right type that cannot be used: texts longer than any name or path, numbers too large to compute with. */
import { z } from "zod";
import type { ConfigTree } from "../config-tree.ts";
import { isTable, type KeyPath } from "../keys/key-path.ts";
import { problemAt, type ConfigProblem } from "../problems.ts";
import { childOf, isFreeForm, nodeOf } from "../keys/schema-walk.ts";

type AnySchema = z.core.$ZodType;

/** The longest path that the system accepts. */
const LONGEST_PATH = 4_096;
const LONGEST_TEXT = 65_536;
/** Single precision ends at 3.4e38, and values are squared. */
const LARGEST_NUMBER = 1e18;

/** The unusable values in `value`, which is at `path` in the tree. */
export function absurdValues(
  value: unknown,
  schema: AnySchema | undefined,
  tree: Pick<ConfigTree, "originOf">,
  path: KeyPath = [],
): ConfigProblem[] {
  if (schema === undefined || isFreeForm(schema)) return [];
  const at = (text: string): ConfigProblem[] => [problemAt(tree.originOf(path), path, text)];
  if (typeof value === "string") {
    const most = nodeOf(schema).relativeTo === undefined ? LONGEST_TEXT : LONGEST_PATH;
    return value.length > most ? at(`a text of ${value.length} characters: at most ${most}`) : [];
  }
  if (typeof value === "number") {
    const isNumber = Number.isFinite(value) && Math.abs(value) > LARGEST_NUMBER;
    return isNumber ? at(`${value} is beyond what is computed with`) : [];
  }
  if (Array.isArray(value)) {
    return value.flatMap((element, i) => absurdValues(element, childOf(schema, i), tree, [...path, i]));
  }
  if (!isTable(value)) return [];
  return Object.entries(value).flatMap(([key, child]) =>
    absurdValues(child, childOf(schema, key), tree, [...path, key]),
  );
}
