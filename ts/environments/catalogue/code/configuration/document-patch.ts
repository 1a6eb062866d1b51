/** document-patch: a JSON document after a list of patch operations with pointers, or the operation that fails. */
import { between } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { itemRow } from "../item-row.ts";
import type { Json } from "../json.ts";

type Operation =
  | { op: "add" | "replace" | "test"; path: string; value: Json }
  | { op: "remove"; path: string }
  | { op: "move" | "copy"; from: string; path: string };
export interface PatchProblem {
  document: Json;
  operations: Operation[];
}

/** By level: operations, depth of the document. */
const SIZES = [
  [2, 1],
  [3, 2],
  [5, 2],
  [7, 3],
  [11, 3],
] as const;
const KEYS = ["a", "b", "c", "x/y", "m~n"];

export const documentPatch = itemRow<PatchProblem>({
  id: "document-patch",
  asks: "a JSON document after patch operations with pointers, array places and escapes",
  form: "lines",
  tries: 60,
  make,
  prompts: [
    (one) =>
      `Document:\n${JSON.stringify(one.document)}\n\nJSON Patch (RFC 6902):\n${list(one)}\n\nWrite the document afterwards as JSON on one line, without spaces; ${ORDER}`,
    (one) =>
      `Apply\n${list(one)}\n\nto ${JSON.stringify(one.document)}\n\nand give the result as compact JSON (one line, no spaces). These are operations of RFC 6902 with JSON pointers (~1 is /, ~0 is ~); ${ORDER}`,
    (one) =>
      `A client sends this patch, application/json-patch+json:\n${list(one)}\n\nThe resource was ${JSON.stringify(one.document)}\n\nWhat is it now? Compact JSON on a single line; ${ORDER}`,
    (one) =>
      `${JSON.stringify(one.document)}\n\nTrace these changes one after the other; places in arrays shift as they go.\n${list(one)}\n\nAnswer with the final JSON text, one line, no blanks; ${ORDER}`,
  ],
});

const ORDER = "members of objects stand in the order in which they were put in, and a replaced member keeps its place.";

/** Where a pointer's index names a member of an object: this engine would put it before all others, whenever it was put in. */
const INDEX_AS_NAME = /"\d+":/u;

function list({ operations }: PatchProblem): string {
  return operations.map((one) => JSON.stringify(one)).join("\n");
}

function make(rng: Rng, level: Level) {
  const [count, depth] = at(SIZES, level - 1);
  const scalar = (): Json => rng.pick<Json>([between(rng, 1, 99), between(rng, 1, 99), "s", true, null]);
  const draw = (left: number): Json => {
    if (left === 0) return scalar();
    const size = between(rng, 2, 3);
    if (rng.integer(2) === 0) return range(size).map(() => draw(rng.integer(left)));
    const first = rng.integer(KEYS.length);
    return Object.fromEntries(
      range(size).map((index) => [at(KEYS, (first + index) % KEYS.length), draw(rng.integer(left))]),
    );
  };
  const document: Json = { a: range(3).map(() => draw(depth - 1)), b: draw(depth), "x/y": draw(depth - 1) };
  const operations: Operation[] = [];
  let state: Json = document;
  for (const _ of range(count * 4)) {
    if (operations.length === count) break;
    const paths = pathsOf(state).filter((path) => path !== "");
    if (paths.length === 0) return null;
    const path = rng.pick(paths);
    const operation = drawOperation(rng, state, [path, rng.pick(paths)], draw(rng.integer(2)));
    const next: Json | null = operation === null ? null : applied(state, operation, "right");
    if (operation === null || next === null || INDEX_AS_NAME.test(JSON.stringify(next))) continue;
    operations.push(operation);
    state = next;
  }
  const gold = JSON.stringify(state);
  if (operations.length < count || gold === JSON.stringify(document) || gold.length > 400 || gold.length < 12)
    return null;
  const slips = (["overwrites", "literal"] as const).map((slip) => {
    const end = operations.reduce<Json | null>(
      (one, operation) => (one === null ? null : (applied(one, operation, slip) ?? one)),
      document,
    );
    return [JSON.stringify(end)];
  });
  return {
    problem: { document, operations },
    items: [gold],
    misses: [...slips, [JSON.stringify(document)], [gold.replace(/\d/u, "0")], [gold.slice(0, -1)]],
    effort: 5 * count + pathsOf(document).length,
  };
}

function drawOperation(rng: Rng, state: Json, [path, other]: [string, string], value: Json): Operation | null {
  const parent = path.slice(0, path.lastIndexOf("/"));
  const isInArray = Array.isArray(valueAt(state, parent));
  switch (rng.integer(6)) {
    case 0:
      return { op: "remove", path };
    case 1:
      return { op: "replace", path, value };
    case 2:
      return { op: "test", path, value: valueAt(state, path) ?? null };
    case 3:
      return path.startsWith(`${other}/`) || other.startsWith(`${path}/`) || path === other
        ? null
        : { op: "move", from: other, path };
    case 4:
      return other.startsWith(`${path}/`) || path === other ? null : { op: "copy", from: other, path };
    default:
      return {
        op: "add",
        path: isInArray ? (rng.integer(3) === 0 ? `${parent}/-` : path) : `${parent}/${rng.pick(["new", "m~0n", "c"])}`,
        value,
      };
  }
}

function pathsOf(value: Json, path = ""): string[] {
  if (typeof value !== "object" || value === null) return [path];
  return [
    path,
    ...Object.entries(value as Readonly<Record<string, Json>>).flatMap(([key, inner]) =>
      pathsOf(inner, `${path}/${key.replaceAll("~", "~0").replaceAll("/", "~1")}`),
    ),
  ];
}

function stepsOf(path: string): string[] {
  return path === ""
    ? []
    : path
        .slice(1)
        .split("/")
        .map((step) => step.replaceAll("~1", "/").replaceAll("~0", "~"));
}

function valueAt(document: Json, path: string): Json | undefined {
  return stepsOf(path).reduce<Json | undefined>(
    (value, step) =>
      typeof value === "object" && value !== null ? (value as Readonly<Record<string, Json>>)[step] : undefined,
    document,
  );
}

/** Slips: an add to an array overwrites, or pointers are taken without escapes. Null where the operation fails. */
function applied(document: Json, operation: Operation, how: "right" | "overwrites" | "literal"): Json | null {
  const copy = JSON.parse(JSON.stringify(document)) as Json;
  const moved = operation.op === "move" || operation.op === "copy" ? valueAt(copy, operation.from) : undefined;
  if (operation.op === "test") return copy;
  const value = operation.op === "add" || operation.op === "replace" ? operation.value : structuredClone(moved);
  if (operation.op === "move" && !change(copy, operation.from, null, how)) return null;
  if (operation.op === "remove") return change(copy, operation.path, null, how) ? copy : null;
  if (value === undefined) return null;
  if (operation.op === "replace" && valueAt(copy, operation.path) === undefined) return null;
  return change(copy, operation.path, { value, inserts: operation.op !== "replace" && how !== "overwrites" }, how)
    ? copy
    : null;
}

/** Sets, inserts or (without a value) removes what a pointer names; false where there is no such place. */
function change(document: Json, path: string, put: { value: Json; inserts: boolean } | null, how: string): boolean {
  const parent = valueAt(document, path.slice(0, path.lastIndexOf("/")));
  const raw = path.slice(path.lastIndexOf("/") + 1);
  const key = how === "literal" ? raw : (stepsOf(`/${raw}`)[0] ?? "");
  if (typeof parent !== "object" || parent === null) return false;
  if (!Array.isArray(parent)) {
    const object = parent as Record<string, Json>;
    if (put !== null) object[key] = put.value;
    else if (key in object) delete object[key];
    else return false;
    return true;
  }
  const array = parent as Json[];
  const place = key === "-" ? array.length : Number(key);
  if (!(place >= 0 && place <= array.length) || (put === null && place === array.length)) return false;
  if (put === null) array.splice(place, 1);
  else array.splice(place, put.inserts ? 0 : 1, put.value);
  return true;
}
