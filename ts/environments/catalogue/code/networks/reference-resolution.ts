/** reference-resolution: the absolute addresses that relative references mean on pages that redirect or declare a base. */
import { sample } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { itemRow } from "../item-row.ts";

export interface ReferenceProblem {
  page: string;
  /** Each is resolved against the address before it. */
  steps: string[];
}

/** By level: references in the chain, and most segments of a path. */
const SIZES = [
  [2, 2],
  [3, 3],
  [5, 3],
  [7, 4],
  [10, 5],
] as const;
const WORDS = ["docs", "img", "a", "b", "news", "v2", "map", "list", "c", "top"];

export const referenceResolution = itemRow<ReferenceProblem>({
  id: "reference-resolution",
  asks: "the absolute addresses along a chain of relative references with dots, queries and fragments",
  form: "lines",
  tries: 30,
  make,
  prompts: [
    (one) =>
      `Start at ${one.page}. Each of these references is resolved against the address that the one before it gave (RFC 3986):\n${one.steps.join("\n")}\n\nWrite the absolute address after each, one on a line.`,
    (one) =>
      `A crawler is at ${one.page} and follows one link after the other; the href of each link is\n${one.steps.join("\n")}\n\nand belongs to the page that the crawler has just reached. List the full URLs in order, a line for each, with query and fragment where they have one.`,
    (one) =>
      `Redirects with relative Location values:\n${one.steps.join("\n")}\n\nThe first belongs to a response of ${one.page}, each following one to the URL reached before. By standard URL resolution, which URLs are reached? One line per step.`,
    (one) =>
      `Resolve step by step.\nBase: ${one.page}\nReferences:\n${one.steps.join("\n")}\nThe result of every step is the base of the next. Dot segments are removed, a reference with only a query or fragment keeps the path. Answer with the results, each on a line.`,
  ],
});

function make(rng: Rng, level: Level) {
  const [count, depth] = at(SIZES, level - 1);
  const segments = (most: number): string[] => sample(WORDS, 1 + rng.integer(most), rng);
  const host = `${rng.pick(["www", "cdn", "old"])}.${rng.pick(["one", "two", "six"])}.example`;
  const page = `https://${host}/${segments(depth + 1).join("/")}${rng.integer(2) === 0 ? "/" : ""}?q=${rng.integer(100)}`;
  const reference = (): string => {
    const tail = rng.integer(3) === 0 ? `?n=${rng.integer(90)}` : rng.integer(4) === 0 ? `#s${rng.integer(9)}` : "";
    const path = segments(depth - 1).join("/");
    const ups = "../".repeat(1 + rng.integer(depth));
    switch (rng.integer(9)) {
      case 0:
        return `?n=${rng.integer(90)}`;
      case 1:
        return `#s${rng.integer(9)}`;
      case 2:
        return `//${rng.pick(["m", "cdn"])}.${rng.pick(["one", "two", "six"])}.example/${path}${tail}`;
      case 3:
        return `/${path}/${rng.pick(["./", "../", ""])}${rng.pick(WORDS)}${tail}`;
      case 4:
        return rng.pick([".", "..", "./", "../"]);
      case 5:
        return `${path}/`;
      default:
        return `${rng.pick([ups, ups, "./", ""])}${path}${tail}`;
    }
  };
  const steps = range(count).map(reference);
  const items = chain(page, steps, resolved);
  if (new Set(items).size < count || !steps.some((step) => step.includes(".."))) return null;
  const misses = [
    chain(page, steps, appended),
    steps.map((step) => resolved(page, step)),
    items.map((item) => item.replace(/[?#].*$/u, "")),
  ];
  if (misses[0]?.join() === items.join()) return null;
  return { problem: { page, steps }, items, misses, effort: steps.join("/").split("/").length + 2 * count };
}

function chain(page: string, steps: readonly string[], resolve: (base: string, step: string) => string): string[] {
  let base = page;
  return steps.map((step) => (base = resolve(base, step)));
}

/** Section 5.2 of RFC 3986 for references without a scheme. */
function resolved(base: string, reference: string): string {
  const [, host = "", path = "", query = ""] = /^https:\/\/([^/?#]*)([^?#]*)(\?[^#]*)?/u.exec(base) ?? [];
  const [, other, ownPath = "", ownQuery, fragment = ""] =
    /^(?:\/\/([^/?#]*))?([^?#]*)(\?[^#]*)?(#.*)?$/u.exec(reference) ?? [];
  if (other !== undefined) return `https://${other}${withoutDots(ownPath)}${ownQuery ?? ""}${fragment}`;
  if (ownPath === "") return `https://${host}${path}${ownQuery ?? query}${fragment}`;
  const full = ownPath.startsWith("/") ? ownPath : `${path.slice(0, path.lastIndexOf("/") + 1)}${ownPath}`;
  return `https://${host}${withoutDots(full)}${ownQuery ?? ""}${fragment}`;
}

function withoutDots(path: string): string {
  const out: string[] = [];
  const parts = path.split("/").slice(1);
  for (const [index, part] of parts.entries()) {
    const isLast = index === parts.length - 1;
    if (part === "..") out.pop();
    if (part === "." || part === "..") {
      if (isLast) out.push("");
    } else out.push(part);
  }
  return `/${out.join("/")}`;
}

/** The slip that takes the whole path for a folder. */
function appended(base: string, reference: string): string {
  const whole = base.replace(/[?#].*$/u, "");
  return reference.startsWith("/") || /^[?#]/u.test(reference)
    ? resolved(base, reference)
    : resolved(`${whole}/`, reference);
}
