/** Pieces cut from bars of several lengths and prices. */
import { between, shuffled } from "../../../../../random/draws.ts";
import { at, range } from "../../../lists.ts";
import { defineGeometry, sortedBy, sum } from "../geometry.ts";
import { GROUPS_PYTHON, groupsFound } from "../searches/groups.ts";

interface Rules {
  /** Lengths of bars, the shortest first, and what each costs. */
  readonly bars: readonly number[];
  readonly prices: readonly number[];
  /** Lost at each cut, and most pieces of a bar. */
  readonly saw: number;
  readonly most: number;
}

interface Data {
  readonly lengths: readonly number[];
}

const ANY = 1_000;
/** Of a price, beside the squares of loads. */
const WEIGHT = 600;

export const stockCutting = defineGeometry<Rules, Data>({
  id: "stock-cutting",
  rules(rng, sides) {
    const bars = [between(rng, 60, 80), between(rng, 90, 120), between(rng, 130, 170)];
    // Long bars cost less for each unit of length.
    const prices = bars.map((length) => Math.floor(length / 4) + between(rng, 6, 9));
    return { bars, prices, saw: sides === 0 ? 0 : between(rng, 1, 3), most: sides === 2 ? between(rng, 4, 6) : ANY };
  },
  draw: (rng, { bars }, size) => {
    const longest = at(bars, 0);
    return {
      lengths: shuffled(
        range(size).map(() => between(rng, 12, longest)),
        rng,
      ),
    };
  },
  input: ({ lengths }) => [[lengths.length], lengths],
  cost({ bars, prices, saw, most }, { lengths }, plan) {
    const cut = plan.flatMap(([, ...pieces]) => pieces);
    const sorted = (some: readonly number[]): string => some.toSorted((a, b) => a - b).join(" ");
    if (sorted(cut) !== sorted(lengths)) return null;
    const isBad = ([kind = -1, ...pieces]: readonly number[]): boolean =>
      pieces.length > most || sum(pieces) + saw * (pieces.length - 1) > (bars[kind] ?? -1);
    return plan.some(isBad) ? null : sum(plan.map(([kind = 0]) => at(prices, kind)));
  },
  isThing: (place) => place === 0,
  plain({ bars, saw, most }, { lengths }) {
    const kind = bars.length - 1;
    const plan: number[][] = [];
    for (const length of lengths) {
      const pieces = plan.at(-1)?.slice(1) ?? [];
      if (plan.length > 0 && pieces.length < most && sum(pieces) + saw * pieces.length + length <= at(bars, kind))
        plan.at(-1)?.push(length);
      else plan.push([kind, length]);
    }
    return plan;
  },
  search({ bars, prices, saw, most }, { lengths }, steps) {
    const sizes = lengths.map((length) => length + saw);
    const kinds = range(at(bars, bars.length - 1) + saw + 1).map((load) => cheapest(bars, prices, load - saw));
    const paid = kinds.map((kind, load) => (load === 0 ? 0 : at(prices, kind)));
    const groups = groupsFound({ sizes, pairs: [], most, prices: paid, weight: WEIGHT }, steps);
    return groups.map((things) => [
      at(kinds, sum(things.map((thing) => at(sizes, thing)))),
      ...things.map((thing) => at(lengths, thing)),
    ]);
  },
  bound: ({ bars, prices, saw }, { lengths }) => {
    const used = sum(lengths) + saw * lengths.length;
    return Math.min(...bars.map((length, kind) => Math.floor((used * at(prices, kind)) / (length + saw))));
  },
  python: {
    constants: ({ bars, prices, saw, most }) =>
      `BARS, PRICES, SAW, MOST = [${bars.join(", ")}], [${prices.join(", ")}], ${saw}, ${most}`,
    plain: `def read():
    return (takes(take()),)


def plain(lengths):
    plan, kind = [], len(BARS) - 1
    for length in lengths:
        pieces = plan[-1][1:] if plan else []
        if plan and len(pieces) < MOST and sum(pieces) + SAW * len(pieces) + length <= BARS[kind]:
            plan[-1].append(length)
        else:
            plan.append([kind, length])
    return [[kind + FIRST] + pieces for kind, *pieces in plan]
`,
    search: `${GROUPS_PYTHON}

def search(lengths, steps):
    sizes = [length + SAW for length in lengths]
    kinds = []
    for load in range(max(BARS) + SAW + 1):
        fit = [kind for kind in range(len(BARS)) if BARS[kind] >= load - SAW]
        kinds.append(min(fit, key=lambda kind: PRICES[kind]))
    prices = [PRICES[kind] if load else 0 for load, kind in enumerate(kinds)]
    groups = grouped(sizes, [], MOST, prices, ${WEIGHT}, steps)
    return [[kinds[sum(sizes[i] for i in g)] + FIRST] + [lengths[i] for i in g] for g in groups]
`,
  },
  stories: [
    "A workshop cuts pieces from metal bars.",
    "A carpenter needs boards of given lengths and buys planks.",
    "Pieces of cable are cut from rolls, and what is left of a roll is thrown away.",
    "A frame maker saws mouldings; the dealer sells them in fixed lengths.",
  ],
  task: ({ bars, prices, saw, most }) =>
    `Bars to buy, by kind, the shortest first: ${bars.map((length, kind) => `length ${length} for ${at(prices, kind)}`).join("; ")}. Any number of each kind may be bought. All pieces must be cut. ${saw > 0 ? `Between two pieces of a bar the saw takes ${saw}. ` : ""}${most < ANY ? `At most ${most} pieces come from one bar. ` : ""}What is left of a bar is lost. The cost is the sum of the prices.`,
  inputText: "The first line has the number of pieces, the second their lengths.",
  outputText: "one line for each bar: the number of its kind, and the lengths of the pieces that are cut from it",
  plainText:
    "it takes the pieces in their order, cuts each from the bar it bought last where that is allowed, and buys another bar of the longest kind where it is not",
});

/** The cheapest kind that is as long; the shortest of equal ones. */
function cheapest(bars: readonly number[], prices: readonly number[], length: number): number {
  const [kind] = sortedBy(bars.length, (index) => at(prices, index)).filter((index) => at(bars, index) >= length);
  return kind ?? bars.length - 1;
}
