/** At most one item of each group into a store with several limits; the cost is the worth that is left behind. */
import { between } from "../../../../../random/draws.ts";
import type { Rng } from "../../../../../random/rng.ts";
import { at, range } from "../../../lists.ts";
import { defineGeometry, dice, slack, sortedBy, sum } from "../geometry.ts";

interface Rules {
  /** Number of limits. */
  readonly limits: number;
  /** Items of a group, at most, and percent of what an average choice would need that is there. */
  readonly items: number;
  readonly room: number;
  readonly heaviest: number;
}

/** The worth, and what it needs of each limit. */
type Item = readonly [value: number, ...needs: number[]];

interface Data {
  readonly limits: readonly number[];
  readonly groups: readonly (readonly Item[])[];
}

const HEAT = 3;

export const groupedKnapsack = defineGeometry<Rules, Data>({
  id: "grouped-knapsack",
  rules: (rng, sides) => ({
    limits: 1 + sides,
    items: between(rng, 3, 5),
    room: between(rng, 30, 60),
    heaviest: between(rng, 20, 60),
  }),
  draw,
  input: ({ limits, groups }) => [
    [groups.length, limits.length],
    limits,
    ...groups.flatMap((items) => [[items.length], ...items]),
  ],
  cost(_, { limits, groups }, plan) {
    const choices = plan.flat();
    if (choices.length !== groups.length) return null;
    if (choices.some((choice, group) => choice !== 0 && at(groups, group)[choice - 1] === undefined)) return null;
    const taken = choices.flatMap((choice, group) => (choice === 0 ? [] : [at(at(groups, group), choice - 1)]));
    if (limits.some((limit, index) => sum(taken.map((item) => at(item, index + 1))) > limit)) return null;
    return mostValue(groups) - sum(taken.map(([value]) => value));
  },
  isThing: () => false,
  plain(_, { limits, groups }) {
    const left = [...limits];
    const choices = groups.map((items) => {
      const found = items.findIndex((item) => left.every((room, index) => at(item, index + 1) <= room));
      for (const [index, room] of left.entries()) left[index] = room - (items[found]?.[index + 1] ?? 0);
      return found + 1;
    });
    return [choices];
  },
  search,
  bound: () => 0,
  python: {
    constants: ({ limits }) => `LIMITS = ${limits}`,
    plain: `def read():
    n, k = take(), take()
    limits = takes(k)
    return limits, [[takes(1 + k) for _ in range(take())] for _ in range(n)]


def plain(limits, groups):
    left, choices = list(limits), []
    for items in groups:
        choice = 0
        for at, item in enumerate(items):
            if all(need <= room for need, room in zip(item[1:], left)):
                choice = at + 1
                left = [room - need for need, room in zip(item[1:], left)]
                break
        choices.append(choice)
    return [choices]
`,
    search: `def search(limits, groups, steps):
    n, k = len(groups), len(limits)
    none = [0] * (1 + k)
    options = [[none] + items for items in groups]
    everything = [(g, o) for g in range(n) for o in range(1, len(options[g]))]

    def density(pair):
        item = options[pair[0]][pair[1]]
        return -(item[0] * 10000 // (1 + sum(need * 1000 // (1 + limit) for need, limit in zip(item[1:], limits))))

    choices, left = [0] * n, list(limits)
    for g, o in sorted(everything, key=density):
        item = options[g][o]
        if choices[g] == 0 and all(need <= room for need, room in zip(item[1:], left)):
            choices[g] = o
            left = [room - need for need, room in zip(item[1:], left)]
    before, grown = list(choices), 0
    for step in range(steps):
        g, h = rnd(n), rnd(n)
        o, p = rnd(len(options[g])), rnd(len(options[h]))
        if g == h:
            p = o
        out, into = options[g][choices[g]], options[g][o]
        off, onto = (options[h][choices[h]], options[h][p]) if g != h else (none, none)
        gain = out[0] - into[0] + off[0] - onto[0]
        if gain > slack(step, steps, ${HEAT}):
            continue
        room = [left[r] + out[r + 1] - into[r + 1] + off[r + 1] - onto[r + 1] for r in range(k)]
        if min(room) < 0:
            continue
        choices[g] = o
        choices[h] = p
        left = room
        grown += gain
    return [before if grown > 0 else choices]
`,
  },
  stories: [
    "An expedition packs its boxes. Of each kind of equipment it takes one model, or none.",
    "A town chooses projects. For each street there are several plans, of which at most one is built.",
    "A satellite carries at most one instrument of each laboratory.",
    "A phone maker chooses for each feature one of several chips, or leaves the feature out.",
  ],
  task: ({ limits }) =>
    `Of each group take one item, or none. The items taken need at most what is there of ${limits === 1 ? "the one limit" : `each of the ${limits} limits`}. The cost is the worth that is left behind: the sum over all groups of the largest worth of the group, less the worth of all items taken.`,
  inputText:
    "The first line has the number of groups and the number of limits, the second line the limits. Then comes each group: a line with the number of its items, and a line for each item with its worth and what it needs of each limit.",
  outputText:
    "one line with the choice in each group, in their order: 1 for its first item, 2 for the second and so on, or 0 for none",
  plainText:
    "it goes through the groups in their order and takes from each the first item for which there is still room, if any",
});

function mostValue(groups: Data["groups"]): number {
  return sum(groups.map((items) => Math.max(...items.map(([value]) => value))));
}

/** Begins with the most worth for what is needed, then changes the choices in one or two groups. */
function search(_: Rules, { limits, groups }: Data, steps: number): number[][] {
  const none: Item = [0, ...limits.map(() => 0)];
  const options = groups.map((items) => [none, ...items]);
  const all = options.flatMap((items, group) => range(items.length - 1).map((index) => [group, index + 1] as const));
  const density = ([value, ...needs]: Item): number =>
    -Math.floor(
      (value * 10_000) / (1 + sum(needs.map((need, index) => Math.floor((need * 1000) / (1 + at(limits, index)))))),
    );
  const choices = groups.map(() => 0);
  let left = [...limits];
  for (const index of sortedBy(all.length, (one) => density(at(at(options, at(all, one)[0]), at(all, one)[1])))) {
    const [group, option] = at(all, index);
    const room = left.map((some, limit) => some - at(at(at(options, group), option), limit + 1));
    if (choices[group] !== 0 || room.some((some) => some < 0)) continue;
    choices[group] = option;
    left = room;
  }
  const [before, rnd] = [[...choices], dice()];
  let grown = 0;
  for (let step = 0; step < steps; step++) {
    const [g, h] = [rnd(groups.length), rnd(groups.length)];
    const [here, there] = [at(options, g), at(options, h)];
    const o = rnd(here.length);
    const drawn = rnd(there.length);
    const p = g === h ? o : drawn;
    const [out, into] = [at(here, at(choices, g)), at(here, o)];
    const [off, onto] = g === h ? [none, none] : [at(there, at(choices, h)), at(there, p)];
    const gain = out[0] - into[0] + off[0] - onto[0];
    if (gain > slack(step, steps, HEAT)) continue;
    const room = left.map(
      (some, limit) => some + at(out, limit + 1) - at(into, limit + 1) + at(off, limit + 1) - at(onto, limit + 1),
    );
    if (room.some((some) => some < 0)) continue;
    choices[g] = o;
    choices[h] = p;
    left = room;
    grown += gain;
  }
  return [grown > 0 ? before : choices];
}

function draw(rng: Rng, { limits, items, room, heaviest }: Rules, size: number): Data {
  const groups = range(size).map(() =>
    range(between(rng, 2, items)).map((): Item => {
      const needs = range(limits).map(() => between(rng, 2, heaviest));
      return [Math.floor(sum(needs) / limits) + between(rng, 1, heaviest), ...needs];
    }),
  );
  return { limits: range(limits).map(() => Math.floor((size * heaviest * room) / 200)), groups };
}
