/** token-stream: the tokens of a text under ordered rules, the longest match first, with modes at the higher levels. */
import { between, shuffled } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { word } from "../../../builtin/words.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { itemRow } from "../item-row.ts";

export interface TokenRule {
  name: string;
  /** An expression without alternatives, so that its greedy match is its longest one. */
  pattern: string;
  /** Mode in which the rule applies, and the mode after it. */
  mode: number;
  next: number;
}
export interface TokenProblem {
  rules: TokenRule[];
  text: string;
}

/** By level: pieces of the text, kinds of rules from the front of the list, modes. */
const SIZES = [
  [5, 6, 1],
  [8, 7, 1],
  [13, 8, 1],
  [17, 9, 2],
  [25, 9, 2],
] as const;

export const tokenStream = itemRow<TokenProblem>({
  id: "token-stream",
  asks: "the tokens that a lexer with longest matches, ties by order and modes makes of a text",
  form: "lines",
  tries: 10,
  make,
  prompts: [
    (one) =>
      `A lexer has these rules, in this order:\n\n${rulesText(one)}\n\n${meaning(one)}\n\nText: ${one.text}\n\nGive the tokens, one a line, as NAME text.`,
    (one) =>
      `Tokenise\n\n${one.text}\n\nwith the rules\n\n${rulesText(one)}\n\n${meaning(one)} One line for each token: the name of its rule, a space, the characters.`,
    (one) =>
      `${meaning(one)}\n\nRules:\n${rulesText(one)}\n\nWhat comes out for the input ${one.text} ? Write each token on a line, first the rule, then the text that it took.`,
    (one) =>
      `Input of a scanner: ${one.text}\n\n${rulesText(one)}\n\nHow it works: ${meaning(one)}\n\nList its output line by line (NAME, space, matched characters) in the order of the input.`,
  ],
});

function rulesText({ rules }: TokenProblem): string {
  const hasModes = rules.some(({ mode }) => mode > 0);
  return rules
    .map(({ name, pattern, mode, next }) => {
      const move = next === mode ? "" : `, then mode ${next + 1}`;
      return `${hasModes ? `mode ${mode + 1}: ` : ""}${name}  ${pattern}${move}`;
    })
    .join("\n");
}

function meaning({ rules }: TokenProblem): string {
  const modes = rules.some(({ mode }) => mode > 0)
    ? " Only the rules of the current mode apply; it is mode 1 at first, and changes after a token where the rule says so."
    : "";
  return `At each place the rule with the longest match wins, and of equally long ones the first in the list.${modes} Patterns are regular expressions.`;
}

/** The rule and the text at a place; null where nothing matches. */
function bestAt({ rules, text }: TokenProblem, [place, mode]: readonly [number, number], isLongest: boolean) {
  let best: { rule: TokenRule; text: string } | null = null;
  for (const rule of rules.filter((one) => one.mode === mode)) {
    const pattern = new RegExp(rule.pattern, "y");
    pattern.lastIndex = place;
    const found = pattern.exec(text)?.[0] ?? "";
    if (found !== "" && (best === null || (isLongest && found.length > best.text.length))) best = { rule, text: found };
  }
  return best;
}

/** Null where a place has no match. */
export function tokensOf(
  problem: TokenProblem,
  isLongest = true,
): { name: string; text: string; ties: number }[] | null {
  const tokens: { name: string; text: string; ties: number }[] = [];
  for (let [place, mode] = [0, 0]; place < problem.text.length;) {
    const best = bestAt(problem, [place, mode], isLongest);
    if (best === null) return null;
    const first = bestAt(problem, [place, mode], false);
    tokens.push({ name: best.rule.name, text: best.text, ties: Number(first?.rule !== best.rule) });
    place += best.text.length;
    mode = best.rule.next;
  }
  return tokens;
}

function make(rng: Rng, level: Level) {
  const [pieces, kinds, modes] = at(SIZES, level - 1);
  const key = word(rng, 1);
  const [op, quote] = [rng.pick("<=!&-"), rng.pick(["'", "%", "#"])];
  const main: Omit<TokenRule, "mode" | "next">[] = [
    { name: "WORD", pattern: "[a-z]+" },
    { name: "INT", pattern: "[0-9]+" },
    { name: "OP", pattern: op },
    { name: "KEY", pattern: key },
    { name: "OPS", pattern: `${op}${op}=?` },
    { name: "REST", pattern: "[0-9_=]" },
    { name: "NAME", pattern: "[a-z][a-z0-9]*" },
    { name: "FRAC", pattern: "[0-9]+_[0-9]+" },
    { name: "UNIT", pattern: "[0-9]+[a-z]" },
  ];
  const rules: TokenRule[] = shuffled(main.slice(0, kinds), rng).map((rule) => ({ ...rule, mode: 0, next: 0 }));
  if (modes > 1) {
    rules.push({ name: "OPEN", pattern: quote, mode: 0, next: 1 });
    rules.push({ name: "CHARS", pattern: "[a-z_]+", mode: 1, next: 1 });
    rules.push({ name: "DIGIT", pattern: "[0-9]", mode: 1, next: 1 });
    rules.push({ name: "MARK", pattern: `${op}+`, mode: 1, next: rng.integer(2) });
    rules.push({ name: "CLOSE", pattern: quote, mode: 1, next: 0 });
  }
  const piece = (): string =>
    rng.pick([
      key,
      key + rng.pick("abcxyz"),
      key + String(between(rng, 0, 77)),
      String(between(rng, 0, 777)),
      `${between(rng, 1, 77)}_${between(rng, 0, 9)}`,
      op.repeat(between(rng, 1, 4)),
      `${op.repeat(between(rng, 2, 3))}=`,
      `${between(rng, 1, 77)}${rng.pick("kms")}`,
      modes > 1 ? quote : op,
    ]);
  const text = range(pieces).map(piece).join("");
  const problem = { rules, text };
  const tokens = tokensOf(problem);
  if (tokens === null) return null;
  const lines = (some: readonly { name: string; text: string }[] | null): string[] =>
    (some ?? []).map((one) => `${one.name} ${one.text}`);
  const items = lines(tokens);
  const first = lines(tokensOf(problem, false));
  const turned = lines(tokensOf({ rules: [...rules].reverse(), text }));
  const effort = tokens.reduce((sum, { ties }) => sum + 1 + 2 * ties, 0) + 2 * rules.length;
  if (first.join() === items.join() || (level > 1 && turned.join() === items.join())) return null;
  return { problem, items, misses: [first, turned], effort };
}
