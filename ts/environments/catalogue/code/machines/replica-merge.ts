/** replica-merge: values of copies that write alone and exchange what they know, with version vectors. */
import { between } from "../../../../random/draws.ts";
import { at, range } from "../../lists.ts";
import type { Json } from "../json.ts";
import { variantRow } from "../variant-row.ts";

interface Version {
  readonly value: number;
  readonly clock: readonly number[];
}

export const replicaMerge = variantRow({
  id: "replica-merge",
  asks: "the values that copies hold after writes, exchanges and conflicts decided by version vectors",
  name: "copies_after",
  parameters: ["events"],
  extras: ["both-ways", "sum", "smallest", "tick", "lost", "reset"],
  constants: (rng) => ({
    copies: between(rng, 3, 4),
    start: between(rng, 10, 99),
    add: between(rng, 1, 9),
    limit: between(rng, 3, 6),
    base: between(rng, 1, 60),
  }),
  stories: [
    "A note is kept on several devices that are seldom online together.",
    "A store keeps a counter in several data centres.",
    "Sensors on ships exchange settings when they meet.",
    "A shared document has copies that are edited apart.",
  ],
  rules: `
There are {{copies}} copies, numbered from 0. Each holds a value, {{start}} at first, and a vector of {{copies}} counts, all 0 at first.
["write", r, v] gives copy r the value v, and its own count in its vector (the one with number r) grows by 1. #!reset
["write", r, v] gives copy r the value v, and its own count in its vector (the one with number r) grows by 1; a count that becomes {{limit}} turns into 1. #?reset
["send", r, s] shows the value and the vector of copy r to copy s, which then takes over or merges as follows; r does not change. #!both-ways
["send", r, s] shows the value and the vector of copy r to copy s, which then takes over or merges as follows; then r takes over the value and the vector of s as they are after that. #?both-ways
If no count of r's vector is larger than that of s's, s changes nothing. Otherwise, if no count of s's vector is larger than that of r's, s takes over the value and the vector of r.
Otherwise there is a conflict: s gets the larger of both values, and in each count the larger one. #!sum #!smallest
Otherwise there is a conflict: s gets the smaller of both values, and in each count the larger one. #!sum #?smallest
Otherwise there is a conflict: s gets the sum of both values plus {{add}}, and in each count the larger one. #?sum #!smallest
Otherwise there is a conflict: s gets the smaller of both values plus {{add}}, and in each count the larger one. #?sum #?smallest
After a conflict, the own count of s grows by 1, as after a write. #?tick
["lose", r] gives copy r the value {{base}} and a vector of zeros. #?lost
`,
  types: `
The argument is the list of the events; r and s are different. The result is the list of [value, vector] of each copy.
`,
  calls({ copies }, rng, on) {
    const one = (): Json => {
      const [kind, r] = [
        rng.pick(["write", "write", "send", "send", "send", ...(on("lost") ? ["lose"] : [])]),
        rng.integer(copies),
      ];
      if (kind === "lose") return [kind, r];
      return [kind, r, kind === "write" ? between(rng, 1, 99) : (r + between(rng, 1, copies - 1)) % copies];
    };
    const some = (count: number): Json[][] => range(7).map(() => [range(count).map(one)]);
    return { short: some(6), medium: some(12), long: some(20), longest: some(40) };
  },
  solve([events]: readonly [readonly (readonly [string, number, number])[]], values, on) {
    const { copies, start, add, limit, base } = values;
    const held = range(copies).map((): Version => ({ value: start, clock: range(copies).map(() => 0) }));
    const grown = (clock: readonly number[], own: number): number[] =>
      clock.map((count, place) => (place !== own ? count : on("reset") && count + 1 === limit ? 1 : count + 1));
    for (const [kind, r, what] of events) {
      const from = at(held, r);
      if (kind === "write") held[r] = { value: what, clock: grown(from.clock, r) };
      if (kind === "lose") held[r] = { value: base, clock: range(copies).map(() => 0) };
      if (kind !== "send") continue;
      const to = at(held, what);
      const isNewer = from.clock.some((count, place) => count > at(to.clock, place));
      const isOlder = to.clock.some((count, place) => count > at(from.clock, place));
      if (isNewer && !isOlder) held[what] = from;
      if (isNewer && isOlder) {
        const small = Math.min(from.value, to.value);
        const value = on("smallest")
          ? small + (on("sum") ? add : 0)
          : on("sum")
            ? from.value + to.value + add
            : Math.max(from.value, to.value);
        const clock = from.clock.map((count, place) => Math.max(count, at(to.clock, place)));
        held[what] = { value, clock: on("tick") ? grown(clock, what) : clock };
      }
      if (on("both-ways")) held[r] = at(held, what);
    }
    return held.map(({ value, clock }) => [value, clock]);
  },
  python: `
def copies_after(events):
    held = [({{start}}, [0] * {{copies}}) for _ in range({{copies}})]

    def grow(clock, own):
        clock = list(clock)
        clock[own] += 1
        if clock[own] == {{limit}}: #?reset
            clock[own] = 1 #?reset
        return clock

    for kind, r, *rest in events:
        value, clock = held[r]
        if kind == "write":
            held[r] = (rest[0], grow(clock, r))
        elif kind == "lose": #?lost
            held[r] = ({{base}}, [0] * {{copies}}) #?lost
        elif kind == "send":
            s = rest[0]
            other, old = held[s]
            top = [max(pair) for pair in zip(clock, old)]
            if top == clock and top != old:
                held[s] = held[r]
            elif top != clock and top != old:
                top = grow(top, s) #?tick
                held[s] = (max(value, other), top) #!sum #!smallest
                held[s] = (min(value, other), top) #!sum #?smallest
                held[s] = (value + other + {{add}}, top) #?sum #!smallest
                held[s] = (min(value, other) + {{add}}, top) #?sum #?smallest
            held[r] = held[s] #?both-ways
    return [[value, clock] for value, clock in held]
`,
});
