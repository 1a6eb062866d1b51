/** pile-game: the first winning move in a game with piles under described moves. */
import { between } from "../../../../random/draws.ts";
import { range } from "../../lists.ts";
import type { Json } from "../json.ts";
import { variantRow } from "../variant-row.ts";

export const pileGame = variantRow({
  id: "pile-game",
  asks: "who wins a game with piles whose moves are described, and by which first move",
  name: "first_win",
  parameters: ["piles"],
  extras: ["misere", "split", "cap", "odd", "all", "same"],
  constants: (rng) => ({
    most: between(rng, 3, 6),
    least: between(rng, 3, 5),
    ban: between(rng, 1, 3),
    lost: rng.pick(["lost", "none", "no", "resign"]),
    both: between(rng, 1, 3),
  }),
  stories: [
    "Two players take stones from piles by turns.",
    "A phone game with matches needs a perfect opponent.",
    "A mathematician studies a variant of an old game.",
    "Pirates share out coins by a game.",
  ],
  rules: `
Two players move by turns. A move takes 1 or more stones from one pile, but not {{ban}} + 1 of them. #!cap
A move takes 1 to {{most}} stones from one pile, but not {{ban}} + 1 of them. #?cap
A player who cannot move loses. #!misere
A player who cannot move wins. #?misere
A move may also divide one pile of at least {{least}} stones into two piles of 1 or more stones each, without taking any. #?split
From a pile with an odd number of stones, an even number may not be taken. #?odd
A move may also take {{both}} stones from each of two piles that have so many. #?all
It is not allowed to make a pile empty as long as there is another pile with stones that has the same size as it had. #?same
Piles without stones do not matter. Both players play as well as possible.
`,
  types: `
The argument is the list of the sizes of the piles, in any order. The result is "{{lost}}" if the first player loses; otherwise it is the list of the sizes of the piles that are not empty after the winning move, in ascending order; if several moves win, the smallest such list in alphabetical order (compared number by number; a list that is the beginning of another one is smaller).
`,
  calls(_, rng) {
    const some = (count: number, size: number): Json[][] =>
      range(6).map(() => [range(count).map(() => between(rng, 1, size))]);
    return { one: range(6).map((index) => [[index + 3]]), two: some(2, 6), even: some(2, 8), three: some(3, 4) };
  },
  solve([piles]: readonly [readonly number[]], { most, least, ban, lost, both }, on) {
    const memory = new Map<string, boolean>();
    const sorted = (list: readonly number[]): number[] => list.filter((pile) => pile > 0).toSorted((a, b) => a - b);
    const moves = (state: readonly number[]): number[][] => {
      const out: number[][] = [];
      for (const [index, pile] of state.entries()) {
        const others = state.filter((_, place) => place !== index);
        for (let take = 1; take <= (on("cap") ? Math.min(most, pile) : pile); take++) {
          if (take === ban + 1 || (on("odd") && pile % 2 === 1 && take % 2 === 0)) continue;
          if (on("same") && take === pile && others.includes(pile)) continue;
          out.push(sorted([...others, pile - take]));
        }
        if (on("split") && pile >= least)
          for (let part = 1; 2 * part <= pile; part++) out.push(sorted([...others, part, pile - part]));
        if (!on("all")) continue;
        for (const [second, other] of state.entries())
          if (second > index && Math.min(pile, other) >= both)
            if (
              !(
                on("same") &&
                [pile, other].some((size) => size === both && state.filter((one) => one === size).length > 1)
              )
            )
              out.push(sorted(state.map((one, place) => (place === index || place === second ? one - both : one))));
      }
      return out;
    };
    const wins = (state: readonly number[]): boolean => {
      const key = state.join(" ");
      const known = memory.get(key);
      if (known !== undefined) return known;
      const next = moves(state);
      const value = next.length === 0 ? on("misere") : next.some((one) => !wins(one));
      memory.set(key, value);
      return value;
    };
    const compare = (a: readonly number[], b: readonly number[]): number => {
      const place = a.findIndex((value, index) => value !== b[index]);
      return place < 0 ? a.length - b.length : (a[place] ?? 0) - (b[place] ?? -1);
    };
    const good = moves(sorted(piles)).filter((state) => !wins(state));
    if (good.length > 0) return good.toSorted(compare)[0] ?? lost;
    return lost;
  },
  python: `
from functools import lru_cache

def moves(state):
    for i, pile in enumerate(state):
        others = state[:i] + state[i + 1:]
        largest = pile #!cap
        largest = min(pile, {{most}}) #?cap
        for take in range(1, largest + 1):
            if take == {{ban}} + 1:
                continue
            if pile % 2 and take % 2 == 0: #?odd
                continue #?odd
            if take == pile and pile in others: #?same
                continue #?same
            yield others + (pile - take,)
        if pile >= {{least}}: #?split
            for part in range(1, pile): #?split
                yield others + (part, pile - part) #?split
        for j in range(i): #?all
            other = state[j] #?all
            if min(pile, other) < {{both}}: #?all
                continue #?all
            if {{both}} in (pile, other) and state.count({{both}}) > 1: #?all #?same
                continue #?all #?same
            rest = others[:j] + others[j + 1:] #?all
            yield rest + (pile - {{both}}, other - {{both}}) #?all

def options(state):
    return {tuple(sorted(p for p in after if p)) for after in moves(state)}

@lru_cache(None)
def wins(state):
    after = options(state)
    if not after:
        return False #!misere
        return True #?misere
    return any(not wins(one) for one in after)

def first_win(piles):
    good = [one for one in options(tuple(sorted(p for p in piles if p))) if not wins(one)]
    return list(min(good)) if good else "{{lost}}"
`,
});
