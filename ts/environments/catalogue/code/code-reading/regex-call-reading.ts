/**
 * regex-call-reading: the results of calls of Python's re module.
 *
 * The engine of this process gives the results. No pattern matches the empty text, so the engines agree on all that is used here; the test of
 * the family compares them.
 */
import { between, sample } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { itemRow } from "../item-row.ts";

interface Call {
  do: "findall" | "split" | "sub";
  pattern: string;
  /** The replacement that `sub` writes. */
  by: string;
  text: string;
}

interface Problem {
  calls: Call[];
}

/** By level: calls, parts of a pattern, length of a text. */
const SIZES = [
  [3, 1, 8],
  [4, 2, 11],
  [4, 3, 14],
  [5, 4, 18],
  [6, 5, 22],
] as const;
const BASE = 0.34;
const TRIES = 400;

export const regexCallReading = itemRow<Problem>({
  id: "regex-call-reading",
  asks: "the results of findall, split and sub with groups, classes and lazy repeats",
  form: "lines",
  base: BASE,
  make,
  prompts: [
    (one) =>
      `What do these lines of Python print (re is imported)?\n\n${regexSource(one.calls)}\n\nOne result a line, as Python prints it.`,
    (one) =>
      `Evaluate each call of the regular expression module:\n\n${regexSource(one.calls)}\n\nWrite what every print shows on a separate line, in order, with Python's quotes and brackets for lists.`,
    (one) =>
      `${regexSource(one.calls)}\n\nMatch by match, work out the output of this Python 3 code. The answer has ${one.calls.length} lines.`,
    (one) =>
      `A log of an interactive session shows only the input:\n\n${regexSource(one.calls)}\n\nRestore the output, one line for each call. Lists look like ['a', 'b'], texts stand without quotes, as print writes them.`,
  ],
});

export function regexSource(calls: readonly Call[]): string {
  return calls
    .map(({ do: what, pattern, by, text }) =>
      what === "sub"
        ? `print(re.sub(r"${pattern}", r"${by}", "${text}"))`
        : `print(re.${what}(r"${pattern}", "${text}"))`,
    )
    .join("\n");
}

function make(rng: Rng, level: Level) {
  const [count, parts, length] = at(SIZES, level - 1);
  const calls: Call[] = [];
  const items: string[] = [];
  let effort = 0;
  for (let turn = 0; turn < TRIES && calls.length < count; turn++) {
    const call = drawCall(rng, parts, length);
    const line = resultOf(call);
    if (line === null || line.length > 90 || items.includes(line)) continue;
    calls.push(call);
    items.push(line);
    effort += call.pattern.length * call.text.length;
  }
  if (calls.length < count) return null;
  const misses = [
    calls.map((call) => resultOf({ ...call, pattern: call.pattern.replaceAll(/([+*}])\?/gu, "$1") }) ?? call.text),
    calls.map((call) => resultOf({ ...call, pattern: call.pattern.replace(/^\^/u, "") }) ?? call.text),
    calls.map(({ text }) => text),
    items.toReversed(),
  ];
  return { problem: { calls }, items, misses, effort };
}

function drawCall(rng: Rng, parts: number, length: number): Call {
  const text = range(length)
    .map(() => rng.pick("aaabbbccx112_-- "))
    .join("")
    .trim();
  const kind = rng.pick(["findall", "findall", "split", "sub"] as const);
  const groups = kind === "sub" ? 1 + rng.integer(2) : kind === "split" ? rng.integer(2) : rng.integer(3);
  const pieces = range(parts).map(() => piece(rng));
  const grouped = new Set(sample(range(parts), Math.min(groups, parts), rng));
  const body = pieces
    .map((one, index) => (grouped.has(index) ? `(${one})` : one.includes("|") ? `(?:${one})` : one))
    .join("");
  const pattern = `${rng.integer(8) === 0 ? "\\b" : ""}${body}`;
  const by = range(grouped.size)
    .map((index) => `\\${index + 1}`)
    .reverse()
    .join(rng.pick(["", "-", "."]));
  return { do: kind, pattern, by: rng.integer(3) === 0 ? `<${by}>` : `${by}!`, text };
}

/** A part of a pattern. */
function piece(rng: Rng): string {
  const atom = rng.pick(["a", "b", "[ab]", "[^ab]", "\\d", "\\w", ".", "[a-c]", "\\W", "c", "[bc1]"]);
  switch (rng.integer(8)) {
    case 0:
    case 1:
      return `${atom}+`;
    case 2:
      return `${atom}+?`;
    case 3:
      return `${atom}*`;
    case 4:
      return `${atom}{${between(rng, 1, 2)},${between(rng, 2, 3)}}`;
    case 5:
      return `${atom}?${rng.pick("abc1")}`;
    case 6:
      return `${rng.pick(["a", "aa", "b"])}|${rng.pick(["ab", "bc", "c1", "\\d"])}`;
    default:
      return atom;
  }
}

/** The printed line; null where nothing or only everything is matched, or an empty match is possible. */
function resultOf({ do: what, pattern, by, text }: Call): string | null {
  const compiled = new RegExp(pattern, "g");
  const matches = [...text.matchAll(compiled)];
  if (matches.length === 0 || matches.some(([whole]) => whole === "" || whole === text)) return null;
  if (what === "sub") return text.replaceAll(compiled, by.replaceAll(/\\(\d)/gu, "$$$1"));
  if (what === "split") return list(text.split(compiled));
  const groups = at(matches, 0).length - 1;
  if (groups === 0) return list(matches.map(([whole]) => whole));
  if (groups === 1) return list(matches.map(([, group = ""]) => group));
  const tuples = matches.map(([, ...parts]: readonly (string | undefined)[]) =>
    parts.map((group = "") => `'${group}'`),
  );
  return `[${tuples.map((texts) => `(${texts.join(", ")})`).join(", ")}]`;
}

/** As Python prints a list of texts and of groups that took no part. */
function list(texts: readonly (string | undefined)[]): string {
  return `[${texts.map((text) => (text === undefined ? "None" : `'${text}'`)).join(", ")}]`;
}
