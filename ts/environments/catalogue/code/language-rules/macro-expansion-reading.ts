/** macro-expansion-reading: the tokens after the C preprocessor, with nested macros, # and ##. */
import { between } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { itemRow } from "../item-row.ts";
import { Expander, type Macro, tokensOf } from "./macro-expansion.ts";

export interface MacroProblem {
  macros: Macro[];
  lines: string[];
}

/** By level: macros, lines to expand, depth of a use, kinds of bodies, least and most replacements. */
const SIZES = [
  [3, 1, 1, 2, 2, 4],
  [4, 2, 1, 3, 5, 8],
  [5, 2, 2, 5, 9, 14],
  [6, 3, 2, 7, 15, 24],
  [8, 3, 3, 8, 25, 90],
] as const;

export const macroExpansionReading = itemRow<MacroProblem>({
  id: "macro-expansion-reading",
  asks: "the tokens that the C preprocessor makes of nested macros with # and ##",
  form: "lines",
  tries: 60,
  make,
  prompts: [
    (one) =>
      `C source:\n\n${defines(one)}\n\n${one.lines.join("\n")}\n\nWhat remains after preprocessing? Write each of the ${count(one)} as its tokens with one space between any two tokens.`,
    (one) =>
      `Run the C preprocessor over\n\n${defines(one)}\n${one.lines.join("\n")}\n\nGive the expanded text: ${count(one)}, and between neighbouring tokens exactly one space. A string literal is one token.`,
    (one) =>
      `Expand the macros in\n\n${one.lines.join("\n")}\n\nwith these definitions (C11):\n\n${defines(one)}\n\nOutput: ${count(one)} of tokens, separated by single spaces.`,
    (one) =>
      `After these directives\n\n${defines(one)}\n\nthe compiler sees what, instead of the following?\n\n${one.lines.join("\n")}\n\nAnswer token by token with a space between tokens (literals count as one token), ${count(one)}.`,
  ],
});

function defines({ macros }: MacroProblem): string {
  return macros
    .map(
      ({ name, parameters, body }) =>
        `#define ${name}${parameters === null ? "" : `(${parameters.join(", ")})`} ${body}`,
    )
    .join("\n");
}

function count({ lines }: MacroProblem): string {
  return lines.length === 1 ? "one line" : `${lines.length} lines`;
}

function drawMacro(name: string, others: readonly Macro[], kinds: number, rng: Rng): Macro {
  const kind = rng.integer(kinds);
  const use = (one: Macro | undefined, first: string, second = first): string => {
    if (one === undefined) return first;
    return one.parameters === null
      ? one.name
      : `${one.name}(${one.parameters.map((_, index) => (index === 0 ? first : second)).join(", ")})`;
  };
  const [other, more] = [rng.pick(others), rng.pick(others)];
  const letter = rng.pick("pqrst");
  if (kind === 0)
    return { name, parameters: null, body: `${use(other, letter)} ${rng.pick("+-*")} ${between(rng, 1, 9)}` };
  if (kind === 1)
    return {
      name,
      parameters: ["x"],
      body: rng.pick([`(x ${rng.pick("+*")} ${letter})`, `x - ${use(other, "x")}`, `[x, x]`]),
    };
  if (kind === 2)
    return { name, parameters: ["x", "y"], body: rng.pick([`y ${rng.pick("*/")} ${use(other, "x", "y")}`, `{y; x}`]) };
  if (kind === 3) return { name, parameters: ["x"], body: "#x" };
  if (kind === 4) return { name, parameters: ["x", "y"], body: rng.pick(["x ## y", "x ## y + y"]) };
  if (kind === 5) return { name, parameters: ["x"], body: use(other, use(more, "x")) };
  // A name in the body of its macro, and a name of a function-like macro without brackets.
  if (kind === 6) return { name, parameters: ["x"], body: `${name}(x) + ${use(other, "x")}` };
  return { name, parameters: null, body: rng.pick([other.name, `${name} ${letter}`, `${more.name} (${letter})`]) };
}

function make(rng: Rng, level: Level) {
  const [macroCount, lineCount, depth, kinds, least, most] = at(SIZES, level - 1);
  const names = range(macroCount).map((index) => at("ABCDEFGH".split(""), index));
  const macros: Macro[] = [{ name: "Z", parameters: null, body: String(between(rng, 10, 99)) }];
  for (const name of names) macros.push(drawMacro(name, macros, kinds, rng));
  const term = (left: number): string => {
    const macro = rng.pick(macros);
    if (macro.parameters === null) return macro.name;
    const argument = (): string =>
      left > 0 && rng.integer(3) > 0 ? term(left - 1) : rng.pick(["p", "q", "2", "Z", "A"]);
    return `${macro.name}(${macro.parameters.map(argument).join(", ")})`;
  };
  const lines = range(lineCount).map(() => `${term(depth)} ${rng.pick("+-")} ${term(depth)};`);
  const run = (isLazy: boolean): { items: string[] | null; replaced: number } => {
    const expander = new Expander(macros, isLazy);
    const all = lines.map(
      (line) =>
        expander
          .expand(tokensOf(line))
          ?.map(({ text }) => text)
          .join(" ") ?? null,
    );
    return { items: all.includes(null) ? null : all.map(String), replaced: expander.replaced };
  };
  const { items, replaced } = run(false);
  const lazy = run(true).items;
  if (items === null || replaced < least || replaced > most || items.some((item) => item.length > 160)) return null;
  const used = new Set(lines.join(" ").match(/[A-Z]/gu));
  if (used.size < Math.min(3, level) || (level >= 3 && (lazy === null || lazy.join() === items.join()))) return null;
  const tokens = lines.map((line) =>
    tokensOf(line)
      .map(({ text }) => text)
      .join(" "),
  );
  const once = new Expander(macros.slice(0, 2))
    .expand(tokensOf(lines.join(" ")))
    ?.map(({ text }) => text)
    .join(" ");
  const misses = [
    lazy ?? tokens,
    tokens,
    items.map((item) => item.replaceAll("(", "").replaceAll(")", "")),
    [once ?? "-"],
  ];
  return { problem: { macros, lines }, items, misses, effort: replaced + 2 * lineCount };
}
