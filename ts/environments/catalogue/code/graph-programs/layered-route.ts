/** layered-route: the cheapest route in a graph with coupons, tolls, turns and lights. */
import { between } from "../../../../random/draws.ts";
import { range } from "../../lists.ts";
import type { Json } from "../json.ts";
import { variantRow } from "../variant-row.ts";
import { drawnEdges, type Edge } from "./drawn-graph.ts";

interface State {
  readonly node: number;
  readonly before: number;
  readonly coupons: number;
  readonly steps: number;
  readonly time: number;
}

export const layeredRoute = variantRow({
  id: "layered-route",
  asks: "the time of the fastest route with free edges, tolls, forbidden turns, lights and even lengths",
  name: "fastest",
  parameters: ["nodes", "edges"],
  extras: ["coupons", "no-return", "toll", "lights", "even", "one-way"],
  constants: (rng) => ({
    coupons: between(rng, 1, 2),
    toll: between(rng, 2, 6),
    period: between(rng, 5, 9),
    red: between(rng, 1, 3),
    none: -between(rng, 1, 99),
  }),
  stories: [
    "A courier wants to be at the last customer as early as possible.",
    "Packets travel through a network with odd rules.",
    "A robot drives through the corridors of a hospital.",
    "Buses of a town are routed by a program.",
  ],
  rules: `
There are nodes from 0 to nodes minus 1. An edge [a, b, w] takes w units of time in both directions. #!one-way
There are nodes from 0 to nodes minus 1. An edge [a, b, w] takes w units of time from a to b, and 2 * w + 1 from b to a. #?one-way
A route begins at node 0 at time 0 and ends at the last node; it may use edges and nodes several times. The time of its end is wanted, as small as possible.
For {{coupons}} edges of the route, which may be chosen, the time is 0. #?coupons
It must not go back directly over the edge by which it has just come. #?no-return
Coming to a node with an odd number takes {{toll}} more units. #?toll
At a node whose number is divisible by 3, the route can only go on at times whose remainder divided by {{period}} is at least {{red}}; it waits there for the first such time. It can go on at once if the remainder is large enough already. #?lights
It must have an even number of edges. #?even
If there is no such route, the result is {{none}}.
`,
  types: `
The arguments are the number of nodes, which is at least 2, and the list of edges. No two edges join the same nodes. The result is a whole number.
`,
  calls(_, rng) {
    const some = (nodes: number, edges: number): Json[][] =>
      range(6).map(() => [nodes, drawnEdges(rng, nodes, edges, 12)]);
    return { small: some(5, 7), sparse: some(8, 11), dense: some(6, 14), large: some(10, 18) };
  },
  solve([nodes, edges]: readonly [number, readonly Edge[]], { coupons, toll, period, red, none }, on) {
    const ways = edges.flatMap(([a, b, w]) => [
      { from: a, to: b, w },
      { from: b, to: a, w: on("one-way") ? 2 * w + 1 : w },
    ]);
    const key = ({ node, before, coupons: left, steps }: State): string =>
      [node, on("no-return") ? before : 0, left, on("even") ? steps : 0].join(" ");
    const start: State = { node: 0, before: -1, coupons: on("coupons") ? coupons : 0, steps: 0, time: 0 };
    const open = new Map([[key(start), start]]);
    const done = new Set<string>();
    while (open.size > 0) {
      let best: State | null = null;
      for (const state of open.values()) if (best === null || state.time < best.time) best = state;
      if (best === null) break;
      open.delete(key(best));
      done.add(key(best));
      if (best.node === nodes - 1 && (!on("even") || best.steps === 0)) return best.time;
      let leaves = best.time;
      if (on("lights") && best.node % 3 === 0) while (leaves % period < red) leaves += 1;
      for (const { from, to, w } of ways) {
        if (from !== best.node || (on("no-return") && to === best.before)) continue;
        const extra = on("toll") && to % 2 === 1 ? toll : 0;
        for (const used of best.coupons > 0 ? [0, 1] : [0]) {
          const next: State = {
            node: to,
            before: best.node,
            coupons: best.coupons - used,
            steps: 1 - best.steps,
            time: leaves + (used === 1 ? 0 : w) + extra,
          };
          const known = open.get(key(next));
          if (!done.has(key(next)) && (known === undefined || known.time > next.time)) open.set(key(next), next);
        }
      }
    }
    return none;
  },
  python: `
import heapq

def fastest(nodes, edges):
    ways = {n: [] for n in range(nodes)}
    for a, b, w in edges:
        ways[a].append((b, w))
        ways[b].append((a, w)) #!one-way
        ways[b].append((a, 2 * w + 1)) #?one-way
    coupons = 0
    coupons = {{coupons}} #?coupons
    heap, seen = [(0, 0, -1, coupons, 0)], set()
    while heap:
        time, node, before, left, odd = heapq.heappop(heap)
        if (node, before, left, odd) in seen:
            continue
        seen.add((node, before, left, odd))
        if node == nodes - 1:
            if not odd: #?even
                return time #?even
            return time #!even
        if node % 3 == 0: #?lights
            while time % {{period}} < {{red}}: #?lights
                time += 1 #?lights
        for to, w in ways[node]:
            if to == before: #?no-return
                continue #?no-return
            extra = 0
            extra = {{toll}} * (to % 2) #?toll
            heapq.heappush(heap, (time + w + extra, to, node, left, 1 - odd))
            if left:
                heapq.heappush(heap, (time + extra, to, node, left - 1, 1 - odd))
    return {{none}}
`,
});
