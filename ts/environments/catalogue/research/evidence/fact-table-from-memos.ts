/** fact-table-from-memos: the prices that are in force after memos that set, change, revoke and reinstate. */
import { between, sample, shuffled } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { distinct, word } from "../../../builtin/words.ts";
import { fieldRow, type Solution } from "../../field-row.ts";
import { at, range } from "../../lists.ts";
import { plus, type Rational, ratio, textOf, times } from "../../math/rational.ts";
import type { Level } from "../../row.ts";
import { inWords } from "../documents.ts";

type Memo =
  | { kind: "set"; items: number[]; price: number }
  | { kind: "raise"; items: number[]; percent: number }
  | { kind: "add"; items: number[]; amount: number }
  | { kind: "revoke"; memo: number };

interface Given {
  items: string[];
  start: number[];
  memos: Memo[];
  /** Order in which the memos lie there. */
  order: number[];
}

/** By level: items, memos. */
const SIZES = [
  [3, 4],
  [4, 7],
  [5, 11],
  [6, 17],
  [7, 26],
] as const;

export const factTableFromMemos = fieldRow<Given>({
  id: "fact-table-from-memos",
  asks: "prices in force after memos that set, raise, add and revoke each other",
  draw,
  solve,
  isShared: true,
  values: () => "each value is the exact price as a decimal or fraction",
  wordings: [
    (one) =>
      `Prices on 1 January: ${start(one)}.\nMemos of the year (they take effect in the order of their numbers):\n${memos(one)}\n\n${rules()} What are the prices at the end?`,
    (one) =>
      `${rules()}\n\nAt first: ${start(one)}. Then, by number (the pile is not in order):\n${memos(one)}\n\nMake the final price list.`,
    (one) =>
      `A pile of memos, whose numbers tell their order:\n${memos(one)}\n\nBefore them the prices were ${start(one)}. ${rules()} Which price does each article have now?`,
    (one) => `Determine the prices in force. Beginning: ${start(one)}. ${rules()}\n${memos(one)}`,
  ],
});

function draw(rng: Rng, level: Level): Given {
  const [itemCount, count] = at(SIZES, level - 1);
  const some = (): number[] =>
    sample(range(itemCount), between(rng, 1, Math.min(3, itemCount)), rng).toSorted((a, b) => a - b);
  const all = range(count).map((index): Memo => {
    const roll = rng.integer(10);
    if (index > 1 && roll < 4) return { kind: "revoke", memo: between(rng, Math.max(0, index - 6), index - 1) };
    if (roll < 6) return { kind: "set", items: some().slice(0, 1), price: 20 * between(rng, 2, 40) };
    if (roll < 8) return { kind: "raise", items: some(), percent: rng.pick([-50, -25, -20, -10, 10, 20, 25, 50]) };
    return { kind: "add", items: some(), amount: rng.pick([-12, -8, -5, 4, 6, 10, 15]) };
  });
  return {
    items: distinct(itemCount, () => word(rng)),
    start: range(itemCount).map(() => 20 * between(rng, 3, 40)),
    memos: all,
    order: shuffled(range(count), rng),
  };
}

function solve(one: Given): Solution | null {
  const { items, memos: all, order } = one;
  if (!all.some(({ kind }) => kind === "revoke")) return null;
  const gold = prices(one, inForce(all), range(all.length));
  const slips = [
    prices(
      one,
      all.map(() => true),
      range(all.length),
    ),
    prices(
      one,
      all.map((_, index) => !all.some((memo) => memo.kind === "revoke" && memo.memo === index)),
      range(all.length),
    ),
    prices(one, inForce(all), order),
    one.start.map(String),
  ].map((slip) => (slip.length === items.length ? slip : gold));
  const distinctSlips = slips.filter((slip) => slip.join() !== gold.join());
  if (distinctSlips.length < 2 || gold.some((price) => price.startsWith("-") || price === "0")) return null;
  return {
    fields: items.map((name, index) => ({ name, kind: "number", value: at(gold, index) })),
    slips: distinctSlips,
    steps: all.reduce((sum, memo) => sum + (memo.kind === "revoke" ? 2 : memo.items.length), items.length),
  };
}

/** From the last memo back: a revocation in force takes its memo away, as if that had never been. */
function inForce(all: readonly Memo[]): boolean[] {
  const valid = all.map(() => true);
  for (const index of range(all.length).toReversed()) {
    const memo = at(all, index);
    if (memo.kind === "revoke" && at(valid, index)) valid[memo.memo] = false;
  }
  return valid;
}

function prices({ start: first, memos: all }: Given, valid: readonly boolean[], order: readonly number[]): string[] {
  const now: Rational[] = first.map((price) => ratio(price));
  for (const index of order) {
    const memo = at(all, index);
    if (memo.kind === "revoke" || !at(valid, index)) continue;
    for (const item of memo.items) {
      const before = at(now, item);
      if (memo.kind === "set") now[item] = ratio(memo.price);
      else if (memo.kind === "add") now[item] = plus(before, ratio(memo.amount));
      else now[item] = times(before, ratio(100 + memo.percent, 100));
    }
  }
  return now.map(textOf);
}

function rules(): string {
  return "A memo that is revoked counts as if it had never been written, so that all later changes act on what there would be without it; a revocation can itself be revoked, and then the first memo is valid again.";
}

function start({ items, start: first }: Given): string {
  return items.map((name, index) => `${name} ${at(first, index)}`).join(", ");
}

function memos({ items, memos: all, order }: Given): string {
  const names = (some: readonly number[]): string => inWords(some.map((item) => at(items, item)));
  const text = (memo: Memo): string => {
    switch (memo.kind) {
      case "set":
        return `${names(memo.items)} costs ${memo.price} from now on.`;
      case "raise":
        return `the price of ${names(memo.items)} ${memo.percent > 0 ? "rises" : "falls"} by ${Math.abs(memo.percent)} percent${memo.items.length > 1 ? " each" : ""}.`;
      case "add":
        return `${names(memo.items)} becomes ${Math.abs(memo.amount)} ${memo.amount > 0 ? "dearer" : "cheaper"}${memo.items.length > 1 ? " each" : ""}.`;
      case "revoke":
        return `memo ${memo.memo + 1} is revoked.`;
    }
  };
  return order.map((index) => `Memo ${index + 1}: ${text(at(all, index))}`).join("\n");
}
