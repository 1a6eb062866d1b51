/** parameter-expansion: what bash makes of ${...} with prefixes, suffixes, replacements, defaults and substrings. */
import { between } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { itemRow } from "../item-row.ts";

type Change =
  | { do: "cut"; sign: "#" | "##" | "%" | "%%"; pattern: string }
  | { do: "replace"; sign: "/" | "//" | "/#" | "/%"; pattern: string; by: string }
  | { do: "part"; from: number; length: number | null }
  | { do: "default"; sign: ":-" | "-" | ":+" | "+" | ":="; word: string }
  | { do: "length" }
  | { do: "case"; sign: "^" | "^^" | "," | ",," };
interface Step {
  name: string;
  change: Change;
  /** The name that takes the result; null: it is only printed. */
  into: string | null;
}
export interface ExpansionProblem {
  values: { name: string; value: string | null }[];
  steps: Step[];
}

/** By level: steps. */
const SIZES = [3, 5, 7, 10, 15] as const;
const WORDS = ["src", "lib", "main", "test", "old", "v2", "data"];

export const parameterExpansion = itemRow<ExpansionProblem>({
  id: "parameter-expansion",
  asks: "the results of bash expansions that cut, replace, default and slice the values of variables",
  form: "lines",
  tries: 60,
  make,
  prompts: [
    (one) => `${expansionSource(one).join("\n")}\n\nWhat does bash print? One line for each printf.`,
    (one) =>
      `Write the output of this bash script, line by line (nothing matches a file name):\n\n${expansionSource(one).join("\n")}`,
    (one) =>
      `Evaluate the parameter expansions of bash in order:\n\n${expansionSource(one).join("\n")}\n\nGive the printed lines.`,
    (one) =>
      `A build script prints path fragments.\n\n${expansionSource(one).join("\n")}\n\nWhich lines appear? Keep their order.`,
  ],
});

export function expansionSource({ values, steps }: ExpansionProblem): string[] {
  return [
    ...values.map(({ name, value }) => (value === null ? `unset ${name}` : `${name}='${value}'`)),
    ...steps.map(({ name, change, into }) => {
      const text = `"\${${inner(name, change)}}"`;
      return into === null ? `printf '<%s>\\n' ${text}` : `${into}=${text}; printf '<%s>\\n' "$${into}"`;
    }),
  ];
}

function inner(name: string, change: Change): string {
  switch (change.do) {
    case "cut":
      return `${name}${change.sign}${change.pattern}`;
    case "replace":
      return `${name}${change.sign}${change.pattern}/${change.by}`;
    case "part":
      return `${name}:${change.from < 0 ? " " : ""}${change.from}${change.length === null ? "" : `:${change.length}`}`;
    case "default":
      return `${name}${change.sign}${change.word}`;
    case "length":
      return `#${name}`;
    case "case":
      return `${name}${change.sign}`;
  }
}

function make(rng: Rng, level: Level) {
  const count = at(SIZES, level - 1);
  const path = (): string =>
    `/${range(between(rng, 2, 3))
      .map(() => rng.pick(WORDS))
      .join("/")}.${rng.pick(["tar.gz", "min.js", "a.b", "test.ts"])}`;
  const names = ["p", "q", "r", "s"].slice(0, 2 + Math.floor(level / 2));
  const values = names.map((name, index) => ({
    name,
    value: index === names.length - 1 ? rng.pick([null, "", path()]) : path(),
  }));
  const pattern = (isStart: boolean): string =>
    isStart ? rng.pick(["*/", "*.", "/*/", "/", "?[a-m]", "*t"]) : rng.pick(["/*", ".*", ".*.*", "[!/]", "/?*", "t*"]);
  const steps = range(count).map((): Step => {
    const kind = rng.integer(12);
    const change: Change =
      kind < 4
        ? rng.integer(2) === 0
          ? { do: "cut", sign: rng.pick(["#", "##"] as const), pattern: pattern(true) }
          : { do: "cut", sign: rng.pick(["%", "%%"] as const), pattern: pattern(false) }
        : kind < 7
          ? {
              do: "replace",
              sign: rng.pick(["/", "//", "/#", "/%"] as const),
              pattern: rng.pick(["?", "[a-m]", "t", "s", ".", "e*", "*t", "[!a-z]"]),
              by: rng.pick(["_", "", "XY"]),
            }
          : kind < 9
            ? { do: "part", from: between(rng, -5, 6), length: rng.pick([null, 3, 4, -2]) }
            : kind === 9
              ? {
                  do: "default",
                  sign: rng.pick([":-", "-", ":+", "+", ":="] as const),
                  word: rng.pick(["none", "alt", "/tmp/x.y"]),
                }
              : kind === 10
                ? { do: "length" }
                : { do: "case", sign: rng.pick(["^", "^^", ",", ",,"] as const) };
    return { name: rng.pick(names), change, into: rng.integer(3) === 0 ? rng.pick(names) : null };
  });
  const problem = { values, steps };
  const items = run(problem, "right");
  if (items === null || new Set(items).size < Math.min(4, count - 1)) return null;
  if (items.filter((item) => item === "<>").length > count / 4) return null;
  const misses = (["greedy", "first"] as const).flatMap((slip) => {
    const found = run(problem, slip);
    return found === null ? [] : [found];
  });
  return {
    problem,
    items,
    misses: [...misses, items.map((item) => item.slice(1, -1) || "-")],
    effort: 3 * count + values.length,
  };
}

/** Slips: short cuts take the longest match, or // replaces only once. Null where a substring would be an error. */
function run({ values, steps }: ExpansionProblem, how: "right" | "greedy" | "first"): string[] | null {
  const state = new Map(values.map(({ name, value }) => [name, value]));
  const printed: string[] = [];
  for (const { name, change, into } of steps) {
    const held = state.get(name) ?? null;
    const value = held ?? "";
    let result = "";
    if (change.do === "cut") result = cut(value, change, how === "greedy");
    else if (change.do === "replace") result = replaced(value, change, how === "first");
    else if (change.do === "length") result = String(value.length);
    else if (change.do === "case") result = cased(value, change.sign);
    else if (change.do === "part") {
      const from = change.from < 0 ? value.length + change.from : change.from;
      const end =
        change.length === null ? value.length : change.length < 0 ? value.length + change.length : from + change.length;
      if (change.from < 0 && from < 0) result = "";
      else if (change.length !== null && change.length < 0 && end < from) return null;
      else result = value.slice(from, Math.max(from, end));
    } else {
      const isMissing = change.sign.startsWith(":") ? value === "" : held === null;
      if (change.sign.endsWith("+")) result = isMissing ? "" : change.word;
      else result = isMissing ? change.word : value;
      if (change.sign === ":=" && isMissing) state.set(name, result);
    }
    if (into !== null) state.set(into, result);
    printed.push(`<${result}>`);
  }
  return printed;
}

function cut(value: string, { sign, pattern }: { sign: string; pattern: string }, isGreedy: boolean): string {
  const isStart = sign.startsWith("#");
  const whole = globOf(pattern);
  const lengths = range(value.length + 1).filter((length) =>
    whole.test(isStart ? value.slice(0, length) : value.slice(value.length - length)),
  );
  const length = sign.length === 2 || isGreedy ? lengths.at(-1) : lengths[0];
  if (length === undefined) return value;
  return isStart ? value.slice(length) : value.slice(0, value.length - length);
}

/** Takes the longest match at the first place, and with // goes on behind it. */
function replaced(
  value: string,
  { sign, pattern, by }: { sign: string; pattern: string; by: string },
  isOnce: boolean,
): string {
  const whole = globOf(pattern);
  const longest = (from: number): number =>
    range(value.length - from)
      .map((one) => value.length - from - one)
      .find((length) => whole.test(value.slice(from, from + length))) ?? 0;
  if (sign === "/%") {
    const from = range(value.length).find((place) => whole.test(value.slice(place)));
    return from === undefined ? value : `${value.slice(0, from)}${by}`;
  }
  let result = "";
  let isDone = false;
  for (let place = 0; place < value.length;) {
    const length = isDone || (sign === "/#" && place > 0) ? 0 : longest(place);
    if (length > 0) {
      result += by;
      place += length;
      isDone = sign !== "//" || isOnce;
    } else {
      result += value.charAt(place);
      place += 1;
    }
  }
  return result;
}

function globOf(pattern: string): RegExp {
  const parts = pattern
    .replaceAll(/\[!/gu, "[^")
    .replaceAll(/[.*?]/gu, (one) => (one === "." ? "\\." : one === "*" ? ".*" : "."));
  return new RegExp(`^(?:${parts.replaceAll("/", "\\/")})$`, "su");
}

function cased(value: string, sign: string): string {
  const change = (text: string): string => (sign.startsWith("^") ? text.toUpperCase() : text.toLowerCase());
  return sign.length === 2 ? change(value) : `${change(value.charAt(0))}${value.slice(1)}`;
}
