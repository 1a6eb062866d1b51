/** bag-choice: the best content of a bag under described weights, sets and discounts. */
import { between } from "../../../../random/draws.ts";
import { range } from "../../lists.ts";
import type { Json } from "../json.ts";
import { variantRow } from "../variant-row.ts";

export const bagChoice = variantRow({
  id: "bag-choice",
  asks: "the best value in a bag with sets, needed items, copies, free room and a number of items",
  name: "fill_bag",
  parameters: ["items", "room"],
  extras: ["kinds", "needs", "copies", "rest", "pair", "heavy"],
  constants: (rng) => ({
    rest: between(rng, 1, 4),
    pair: between(rng, 3, 12),
    heavy: between(rng, 5, 8),
    few: between(rng, 2, 4),
    fine: between(rng, 1, 9),
  }),
  stories: [
    "A hiker packs a bag with the most useful things.",
    "A drone carries parcels and is paid for each.",
    "A small budget is spent on the best measures.",
    "A collector fills a box for the journey home.",
  ],
  rules: `
An item [weight, value, kind] can be taken once. The weights of the taken items are together at most room. The largest value together, with the rules below, is wanted; an empty bag has the value 0 and is allowed.
Each item may be taken twice. #?copies
At most {{few}} pieces of each kind are taken. #?kinds
An item of kind 1 may only be taken together with at least one item of kind 0. #?needs
Each unit of weight that is left free in a bag that is not empty brings {{rest}}. #?rest
If items of at least three kinds are taken, this brings {{pair}}. #?pair
At most one piece with a weight of {{heavy}} or more is taken. #?heavy
If anything is taken, {{fine}} is subtracted once.
`,
  types: `
The arguments are the list of the items and the room; kinds are 0, 1, 2 or 3. The result is a whole number.
`,
  calls(_, rng) {
    const items = (count: number): Json =>
      range(count).map(() => [between(rng, 1, 9), between(rng, 2, 20), rng.integer(4)]);
    const some = (count: number, room: number): Json[][] => range(6).map(() => [items(count), room + rng.integer(6)]);
    return { few: some(4, 8), more: some(6, 12), many: some(7, 18), narrow: some(7, 6) };
  },
  solve([items, room]: readonly [readonly (readonly [number, number, number])[], number], values, on) {
    const { rest, pair, heavy, few, fine } = values;
    let best = 0;
    const counts = [0, 0, 0, 0];
    const visit = (index: number, left: number, value: number, big: number): void => {
      const item = items[index];
      if (item === undefined) {
        const isAllowed = !on("needs") || counts[1] === 0 || (counts[0] ?? 0) > 0;
        const kinds = counts.filter((count) => count > 0).length;
        if (kinds === 0 || !isAllowed) return;
        best = Math.max(best, value + (on("rest") ? rest * left : 0) + (on("pair") && kinds > 2 ? pair : 0) - fine);
        return;
      }
      const [weight, gain, kind] = item;
      for (let pieces = 0; pieces <= (on("copies") ? 2 : 1); pieces++) {
        const isBig = weight >= heavy ? pieces : 0;
        const now = counts[kind] ?? 0;
        if (pieces * weight > left || (on("heavy") && big + isBig > 1) || (on("kinds") && now + pieces > few)) break;
        counts[kind] = now + pieces;
        visit(index + 1, left - pieces * weight, value + pieces * gain, big + isBig);
        counts[kind] = now;
      }
    };
    visit(0, room, 0, 0);
    return best;
  },
  python: `
def fill_bag(items, room):
    states = {(room, (0, 0, 0, 0), 0): 0}  # free room, pieces of each kind, heavy pieces: value
    for weight, value, kind in items:
        new = {}
        for (left, counts, big), total in states.items():
            for pieces in (0, 1): #!copies
            for pieces in (0, 1, 2): #?copies
                free = left - pieces * weight
                more = list(counts)
                more[kind] += pieces
                heavy = big + pieces * (weight >= {{heavy}})
                if free < 0:
                    continue
                if heavy > 1: #?heavy
                    continue #?heavy
                if more[kind] > {{few}}: #?kinds
                    continue #?kinds
                key = (free, tuple(more), heavy)
                new[key] = max(total + pieces * value, new.get(key, 0))
        states = new
    best = 0
    for (left, counts, _), total in states.items():
        if not any(counts):
            continue
        if counts[1] and not counts[0]: #?needs
            continue #?needs
        total += left * {{rest}} #?rest
        total += {{pair}} * (sum(map(bool, counts)) > 2) #?pair
        best = max(best, total - {{fine}})
    return best
`,
});
