/** link-choice: the links that a greedy builder of networks takes under described conditions. */
import { between } from "../../../../random/draws.ts";
import { at, range } from "../../lists.ts";
import type { Json } from "../json.ts";
import { variantRow } from "../variant-row.ts";
import { drawnEdges, type Edge } from "./drawn-graph.ts";

export const linkChoice = variantRow({
  id: "link-choice",
  asks: "the links that a builder takes by cost with degree caps, spare links, reserved nodes and a budget",
  name: "build",
  parameters: ["nodes", "links"],
  extras: ["costly", "degree", "spare", "budget", "group", "upkeep"],
  constants: (rng) => ({
    most: between(rng, 2, 3),
    spare: between(rng, 1, 3),
    budget: between(rng, 20, 60),
    group: between(rng, 3, 6),
    upkeep: between(rng, 1, 6),
  }),
  stories: [
    "Villages are joined by cables, and the cheapest plan is not quite allowed.",
    "A factory lays pipes between its tanks.",
    "Islands are connected by ferries under some conditions.",
    "A network of sensors chooses its radio links.",
  ],
  rules: `
The links [a, b, cost] are looked at one after the other, those of smallest cost first; of equal cost, the one that stands first in the list. #!costly
The links [a, b, cost] are looked at one after the other, those of largest cost first; of equal cost, the one that stands first in the list. #?costly
For this order only, the cost of a link counts {{upkeep}} more for each of its two nodes that has an odd number. #?upkeep
A link is taken if no chain of taken links joins its two nodes yet. #!spare
A link is taken if no chain of taken links joins its two nodes yet; besides, {{spare}} links are taken whose nodes are joined already, the first that come and meet all other conditions. #?spare
A link is not taken if one of its nodes has {{most}} taken links already. #?degree
A link is not taken if the costs of the taken links, with it, would be more than {{budget}}. #?budget
A link is not taken if it would join more than {{group}} nodes to one whole. #?group
`,
  types: `
The arguments are the number of nodes (0 to nodes minus 1) and the list of links. The result is a list of two: the list of the places of the taken links in the list, counted from 0, in the order in which they were taken; and the sum of their costs.
`,
  calls(_, rng) {
    const some = (nodes: number, edges: number): Json[][] =>
      range(6).map(() => [nodes, drawnEdges(rng, nodes, edges, 15)]);
    return { small: some(5, 7), medium: some(7, 12), dense: some(7, 20), large: some(12, 24) };
  },
  solve([nodes, links]: readonly [number, readonly Edge[]], { most, spare, budget, group, upkeep }, on) {
    const price = ([a, b, cost]: Edge): number => cost + (on("upkeep") ? upkeep * ((a % 2) + (b % 2)) : 0);
    const order = range(links.length).toSorted(
      (x, y) => (price(at(links, x)) - price(at(links, y))) * (on("costly") ? -1 : 1) || x - y,
    );
    let names = range(nodes);
    const degrees = range(nodes).map(() => 0);
    const taken: number[] = [];
    let [sum, left] = [0, on("spare") ? spare : 0];
    for (const place of order) {
      const [a, b, cost] = at(links, place);
      const [first, second] = [at(names, a), at(names, b)];
      if (first === second && left === 0) continue;
      if (on("degree") && (at(degrees, a) >= most || at(degrees, b) >= most)) continue;
      if (on("budget") && sum + cost > budget) continue;
      if (on("group") && names.filter((name) => name === first || name === second).length > group) continue;
      if (first === second) left -= 1;
      names = names.map((name) => (name === second ? first : name));
      degrees[a] = at(degrees, a) + 1;
      degrees[b] = at(degrees, b) + 1;
      sum += cost;
      taken.push(place);
    }
    return [taken, sum];
  },
  python: `
def build(nodes, links):
    whole = {n: {n} for n in range(nodes)}
    degree = [0] * nodes #?degree
    taken, total = [], 0
    spare = {{spare}} #?spare

    def price(i):
        a, b, cost = links[i]
        cost += {{upkeep}} * (a % 2 + b % 2) #?upkeep
        return cost #!costly
        return -cost #?costly

    for i in sorted(range(len(links)), key=price):
        a, b, cost = links[i]
        joined = whole[a] is whole[b]
        if joined: #!spare
        if joined and spare == 0: #?spare
            continue
        if max(degree[a], degree[b]) >= {{most}}: #?degree
            continue #?degree
        if total + cost > {{budget}}: #?budget
            continue #?budget
        if len(whole[a] | whole[b]) > {{group}}: #?group
            continue #?group
        spare -= joined #?spare
        both = whole[a] if joined else whole[a] | whole[b]
        for n in both:
            whole[n] = both
        degree[a] += 1 #?degree
        degree[b] += 1 #?degree
        total += cost
        taken.append(i)
    return [taken, total]
`,
});
