/** minimal-brackets: an expression tree with the fewest brackets under a given table of precedence and associativity. */
import { sample } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { itemRow } from "../item-row.ts";

export interface Operator {
  sign: string;
  /** A larger one binds tighter. Operators of one rank share their side. */
  rank: number;
  side: "left" | "right" | "none";
}
export type Tree =
  | { readonly kind: "name"; readonly name: string }
  | { readonly kind: "prefix"; readonly body: Tree }
  | { readonly kind: "binary"; readonly sign: string; readonly left: Tree; readonly right: Tree };
export interface BracketProblem {
  operators: Operator[];
  /** Rank of the prefix sign; null: the notation has none. */
  prefix: number | null;
  full: string;
}

/** By level: binary operators of the tree, signs, ranks, and whether there is a prefix sign. */
const SIZES = [
  [4, 3, 2, false],
  [6, 4, 3, false],
  [9, 5, 3, false],
  [12, 6, 4, true],
  [17, 7, 4, true],
] as const;
const SIGNS = ["+", "*", "^", "@", "#", "%", "&", "|"];
const PREFIX = "~";
const SIDES = { left: "from the left", right: "from the right", none: "not at all (a op b op c is an error)" } as const;

export const minimalBrackets = itemRow<BracketProblem>({
  id: "minimal-brackets",
  asks: "an expression with the fewest brackets under a given table of precedence and associativity",
  form: "lines",
  tries: 30,
  make,
  prompts: [
    (one) =>
      `A language has its own operators:\n\n${table(one)}\n\nRemove all brackets from\n\n${one.full}\n\nthat are not needed, so that the expression is still read as the same tree. Keep the order of everything else.`,
    (one) =>
      `${one.full}\n\nis written with brackets around every operation. Under these rules\n\n${table(one)}\n\nwhich is the shortest text (fewest brackets, same names and signs in the same order) that is parsed into the same tree? Give this text.`,
    (one) =>
      `Print a tree for a formatter that hates brackets.\n\nTree, fully bracketed: ${one.full}\n\nGrammar:\n${table(one)}\n\nAnswer with the expression that has as few brackets as possible and the same meaning for the parser; algebraic laws do not hold here.`,
    (one) =>
      `Operators, all of them unusual:\n\n${table(one)}\n\nSimplify the notation of\n${one.full}\nby leaving out every pair of brackets without which the parser still builds the same tree. Nothing may be reordered.`,
  ],
});

function table({ operators, prefix }: BracketProblem): string {
  const ranks = [...new Set([...operators.map(({ rank }) => rank), ...(prefix === null ? [] : [prefix])])];
  return ranks
    .toSorted((a, b) => b - a)
    .map((rank, index) => {
      const here = operators.filter((one) => one.rank === rank);
      const place = index === 0 ? "binds tightest" : "then";
      if (here.length === 0) return `${place}: prefix ${PREFIX}`;
      return `${place}: ${here.map(({ sign }) => sign).join(" ")}, grouping ${SIDES[at(here, 0).side]}`;
    })
    .join("\n");
}

function fullText(tree: Tree): string {
  if (tree.kind === "name") return tree.name;
  if (tree.kind === "prefix") return `(${PREFIX}${fullText(tree.body)})`;
  return `(${fullText(tree.left)}${tree.sign}${fullText(tree.right)})`;
}

/** The text without needless brackets. A prefix sign never stands below a tighter binary one without them. */
function shortText(tree: Tree, problem: Pick<BracketProblem, "operators" | "prefix">): string {
  const { operators, prefix } = problem;
  const rankOf = (one: Tree): number => {
    if (one.kind === "name") return Number.POSITIVE_INFINITY;
    return one.kind === "prefix" ? (prefix ?? 0) : (operators.find(({ sign }) => sign === one.sign)?.rank ?? 0);
  };
  const text = (one: Tree, isBare: boolean): string =>
    isBare ? shortText(one, problem) : `(${shortText(one, problem)})`;
  if (tree.kind === "name") return tree.name;
  const rank = rankOf(tree);
  if (tree.kind === "prefix") return `${PREFIX}${text(tree.body, rankOf(tree.body) >= rank)}`;
  const side = operators.find(({ sign }) => sign === tree.sign)?.side;
  const isBare = (one: Tree, own: "left" | "right"): boolean =>
    rankOf(one) > rank || (one.kind === "binary" && rankOf(one) === rank && side === own);
  return `${text(tree.left, isBare(tree.left, "left"))}${tree.sign}${text(tree.right, isBare(tree.right, "right"))}`;
}

/** Whether a prefix sign stands as a right operand of an operator that binds tighter: parsers differ there. */
function isDoubtful(tree: Tree, prefix: number | null, operators: readonly Operator[]): boolean {
  if (tree.kind === "name") return false;
  if (tree.kind === "prefix") return isDoubtful(tree.body, prefix, operators);
  const rank = operators.find(({ sign }) => sign === tree.sign)?.rank ?? 0;
  const isHere = [tree.left, tree.right].some((one) => one.kind === "prefix" && prefix !== null && prefix < rank);
  return isHere || isDoubtful(tree.left, prefix, operators) || isDoubtful(tree.right, prefix, operators);
}

function drawTree(size: number, signs: readonly string[], hasPrefix: boolean, rng: Rng): Tree {
  if (hasPrefix && size > 0 && rng.integer(6) === 0) return { kind: "prefix", body: drawTree(size, signs, false, rng) };
  if (size === 0) return { kind: "name", name: rng.pick("abcdefgh") };
  const left = rng.integer(size);
  return {
    kind: "binary",
    sign: rng.pick(signs),
    left: drawTree(left, signs, hasPrefix, rng),
    right: drawTree(size - 1 - left, signs, hasPrefix, rng),
  };
}

function make(rng: Rng, level: Level) {
  const [size, signCount, ranks, hasPrefix] = at(SIZES, level - 1);
  const signs = sample(SIGNS, signCount, rng);
  const order = sample(range(ranks + Number(hasPrefix)), ranks, rng);
  const sides = order.map(() =>
    rng.pick(["left", "left", "right", "right", ...(level >= 3 ? (["none"] as const) : [])] as const),
  );
  const operators = signs.map((sign, index): Operator => ({
    sign,
    rank: at(order, index % ranks),
    side: at(sides, index % ranks),
  }));
  const prefix = hasPrefix ? (range(ranks + 1).find((rank) => !order.includes(rank)) ?? 0) : null;
  const tree = drawTree(size, signs, hasPrefix, rng);
  const problem = { operators, prefix };
  const item = shortText(tree, problem);
  const full = fullText(tree).replace(/^\((.*)\)$/su, "$1");
  const pairs = (text: string): number => text.split("(").length - 1;
  if (isDoubtful(tree, prefix, operators) || pairs(item) < 1 || pairs(full) - pairs(item) < 2) return null;
  if (hasPrefix && !full.includes(PREFIX)) return null;
  const leftOnly = shortText(tree, { prefix, operators: operators.map((one) => ({ ...one, side: "left" as const })) });
  const turned = shortText(tree, { prefix, operators: operators.map((one) => ({ ...one, rank: -one.rank })) });
  const misses = [[leftOnly], [turned], [item.replaceAll(/[()]/gu, "")], [full], [`(${item})`]];
  return { problem: { operators, prefix, full }, items: [item], misses, effort: 2 * size + pairs(item) + signCount };
}
