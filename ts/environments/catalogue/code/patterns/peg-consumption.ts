/** peg-consumption: how much of a text a parsing expression grammar takes, where choices are ordered and repeats never give back. */
import { between } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { itemRow } from "../item-row.ts";

export interface PegPart {
  /** A letter, or the number of a later rule. */
  what: string | number;
  suffix: "" | "*" | "+" | "?";
  prefix: "" | "!" | "&";
}
export interface PegProblem {
  /** Rules, each a list of alternatives, each a list of parts. */
  rules: PegPart[][][];
  texts: string[];
}

/** By level: rules, texts, longest text, least and most steps of the parser; predicates from level 3 on. */
const SIZES = [
  [1, 3, 5, 5, 22],
  [2, 4, 6, 24, 45],
  [3, 5, 7, 48, 75],
  [4, 6, 9, 80, 125],
  [5, 8, 11, 130, 400],
] as const;
const NAMES = ["S", "A", "B", "C", "D"];
const FAIL = "fail";
const MEANING =
  "A choice x / y tries y only if x fails, and is not revisited once x has succeeded; e*, e+ and e? take as much as they can and never give anything back; !e and &e look ahead without taking anything, and succeed if e fails (!) or succeeds (&).";

export const pegConsumption = itemRow<PegProblem>({
  id: "peg-consumption",
  asks: "how many characters of given texts a parsing expression grammar takes, or that it fails",
  form: "list",
  tries: 20,
  make,
  prompts: [
    (one) =>
      `A parsing expression grammar, which starts with S:\n\n${grammar(one)}\n\n${MEANING}\n\nFor each text give the number of characters that S takes from its beginning, or ${FAIL}:\n\n${texts(one)}\n\nAnswer with ${one.texts.length} entries, separated by commas.`,
    (one) =>
      `${MEANING}\n\nGrammar:\n${grammar(one)}\n\nS is applied to the beginning of each of these texts, and need not reach the end:\n\n${texts(one)}\n\nHow long is what it consumes? Write 0, 1, 2, ... or ${FAIL}, in order, with commas.`,
    (one) =>
      `Carry out this PEG (start symbol S).\n\n${texts(one)}\n\nRules:\n\n${grammar(one)}\n\nRemember: ${MEANING}\n\nResult per text: consumed characters, or ${FAIL}; comma-separated.`,
    (one) =>
      `Inputs:\n${texts(one)}\n\nParser:\n${grammar(one)}\n\nA recursive-descent parser was made from these rules. ${MEANING} List how many characters its function S consumes of each input, ${FAIL} where it fails, with commas in between.`,
  ],
});

function grammar({ rules }: PegProblem): string {
  return rules
    .map((alternatives, index) => {
      const sides = alternatives.map((parts) => parts.map(partText).join(" "));
      return `${at(NAMES, index)} <- ${sides.join(" / ")}`;
    })
    .join("\n");
}

function partText({ what, prefix, suffix }: PegPart): string {
  return `${prefix}${typeof what === "number" ? at(NAMES, what) : `'${what}'`}${suffix}`;
}

function texts({ texts: all }: PegProblem): string {
  return all.map((text, index) => `${index + 1}. ${text}`).join("\n");
}

interface Count {
  steps: number;
}

/** Where the parse of a rule ends; null where it fails. */
function ruleEnd(
  rules: PegProblem["rules"],
  rule: number,
  [text, from]: readonly [string, number],
  count: Count,
): number | null {
  for (const parts of at(rules, rule)) {
    let now: number | null = from;
    for (const part of parts) {
      if (now === null) break;
      now = partEnd(rules, part, [text, now], count);
    }
    if (now !== null) return now;
  }
  return null;
}

function partEnd(
  rules: PegProblem["rules"],
  part: PegPart,
  [text, from]: readonly [string, number],
  count: Count,
): number | null {
  const once = (place: number): number | null => {
    count.steps += 1;
    if (typeof part.what === "number") return ruleEnd(rules, part.what, [text, place], count);
    return text.startsWith(part.what, place) ? place + part.what.length : null;
  };
  const first = once(from);
  if (part.prefix !== "") return (first === null) === (part.prefix === "!") ? from : null;
  if (part.suffix === "") return first;
  if (first === null) return part.suffix === "+" ? null : from;
  let end = first;
  if (part.suffix === "?") return end;
  for (let next = once(end); next !== null && next > end; next = once(end)) end = next;
  return end;
}

/** Ends of all parses if choices and repeats could be revisited, as in a context-free grammar. */
function freeEnds(rules: PegProblem["rules"], rule: number, text: string, from: number): Set<number> {
  const ends = at(rules, rule).flatMap((parts) =>
    parts.reduce(
      (now, part) => new Set([...now].flatMap((place) => freePart(rules, part, text, place))),
      new Set([from]),
    ),
  );
  return new Set(ends.flatMap((some) => [...some]));
}

function freePart(rules: PegProblem["rules"], { what, prefix, suffix }: PegPart, text: string, from: number): number[] {
  const once = (place: number): number[] =>
    typeof what === "number"
      ? [...freeEnds(rules, what, text, place)]
      : text.startsWith(what, place)
        ? [place + what.length]
        : [];
  const first = once(from);
  if (prefix !== "") return (first.length === 0) === (prefix === "!") ? [from] : [];
  if (suffix === "") return first;
  const all = new Set(suffix === "+" ? first : [from, ...first]);
  if (suffix !== "?") for (const place of all) for (const next of once(place)) all.add(next);
  return [...all];
}

function drawRules(count: number, hasPredicates: boolean, rng: Rng): PegProblem["rules"] {
  const nullable: boolean[] = [];
  const rules: PegProblem["rules"] = [];
  // From the last rule on, so that it is known which rules can succeed without a character.
  for (const rule of range(count).reverse()) {
    const drawPart = (isFirst: boolean): PegPart => {
      const isLetter = rule === count - 1 || rng.integer(2) === 0;
      const what = isLetter ? rng.pick(["a", "b", "a", "b", "ab", "ba"]) : between(rng, rule + 1, count - 1);
      const prefix = hasPredicates && isFirst && rng.integer(5) === 0 ? rng.pick(["!", "&"] as const) : "";
      const canRepeat = prefix === "" && !(typeof what === "number" && nullable[what] === true);
      return { what, prefix, suffix: canRepeat ? rng.pick(["", "", "*", "+", "?"] as const) : "" };
    };
    const alternatives = range(between(rng, 2, 3)).map(() =>
      range(between(rng, 1, 3)).map((index) => drawPart(index === 0)),
    );
    nullable[rule] = alternatives.some((parts) =>
      parts.every(({ what, prefix, suffix }) => {
        const isEmpty = prefix !== "" || suffix === "*" || suffix === "?";
        return isEmpty || (typeof what === "number" && nullable[what] === true);
      }),
    );
    rules.unshift(alternatives);
  }
  return rules;
}

function make(rng: Rng, level: Level) {
  const [count, inputs, longest, least, most] = at(SIZES, level - 1);
  const rules = drawRules(count, level >= 3, rng);
  const drawn = new Set(
    range(3 * inputs).map(() =>
      range(between(rng, 2, longest))
        .map(() => rng.pick("ab"))
        .join(""),
    ),
  );
  const counter: Count = { steps: 0 };
  const results = [...drawn].map((text) => {
    const end = ruleEnd(rules, 0, [text, 0], counter);
    const free = freeEnds(rules, 0, text, 0);
    return { text, item: end === null ? FAIL : String(end), free: free.size === 0 ? FAIL : String(Math.max(...free)) };
  });
  // Texts with different results first, and at least one that a parser with second thoughts parses otherwise.
  const chosen = results.filter((one, index) => results.findIndex(({ item }) => item === one.item) === index);
  const odd = results.filter((one) => one.item !== one.free && !chosen.includes(one));
  const all = [...chosen, ...odd, ...results.filter((one) => !chosen.includes(one) && !odd.includes(one))].slice(
    0,
    inputs,
  );
  const used = new Set(rules.flat(2).map(({ what }) => what));
  if (range(count).some((rule) => rule > 0 && !used.has(rule))) return null;
  if (all.length < inputs || new Set(all.map(({ item }) => item)).size < Math.min(3, inputs - 1)) return null;
  const items = all.map(({ item }) => item);
  const free = all.map((one) => one.free);
  if (free.join() === items.join()) return null;
  const steps: Count = { steps: 0 };
  for (const { text } of all) ruleEnd(rules, 0, [text, 0], steps);
  if (steps.steps < least || steps.steps > most) return null;
  const misses = [free, all.map(({ text }) => String(text.length)), items.map((item) => (item === FAIL ? "0" : item))];
  return { problem: { rules, texts: all.map(({ text }) => text) }, items, misses, effort: steps.steps };
}
