/** spreading-times: when something that spreads over a graph in rounds reaches each node. */
import { between, sample } from "../../../../random/draws.ts";
import { range } from "../../lists.ts";
import type { Json } from "../json.ts";
import { variantRow } from "../variant-row.ts";
import { drawnEdges, type Edge } from "./drawn-graph.ts";

export const spreadingTimes = variantRow({
  id: "spreading-times",
  asks: "the round in which a rumour reaches each node, with thresholds, forgetting, blocks and delays",
  name: "rounds",
  parameters: ["nodes", "edges", "sources"],
  extras: ["threshold", "forget", "immune", "heavy", "distance", "doubt"],
  constants: (rng) => ({
    end: between(rng, 9, 15),
    never: -between(rng, 1, 50),
    heavy: between(rng, 4, 7),
    life: between(rng, 2, 3),
    part: between(rng, 3, 5),
  }),
  stories: [
    "A rumour spreads among people who know each other.",
    "A fault spreads through a network of power lines.",
    "A fire jumps from tree to tree.",
    "An update spreads among devices that talk to their neighbours.",
  ],
  rules: `
Nodes have the numbers 0 to nodes minus 1; an edge [a, b, w] makes a and b neighbours. The sources know the rumour from round 0 on; the rounds 1 to {{end}} follow.
In each round, a node that does not know the rumour learns it if at least one neighbour passed it on in the round before. #!threshold
In each round, a node that does not know the rumour learns it if at least two neighbours passed it on in the round before, or one did, if it has only one neighbour. #?threshold
A node that knows the rumour passes it on in every round, to all neighbours. #!forget
A node passes the rumour on, to all neighbours, only in {{life}} rounds: the round in which it learnt it (round 0 for sources) and those directly after it. It still knows it later. #?forget
Over edges with w of {{heavy}} or more nothing is passed on. #?heavy
Nodes whose number is divisible by {{part}}, except sources, never learn it. #?immune
A node to which enough neighbours have passed the rumour learns it only one round later than it would by the rule above, even if no neighbour passes it on then. #?doubt
The result for a node is the number of the round in which it learnt the rumour (0 for sources). #!distance
The result for a node is the number of the round in which it learnt the rumour (0 for sources), times 100, plus the number of its neighbours that know it after the last round. #?distance
A node that never learnt it has {{never}}.
`,
  types: `
The arguments are the number of nodes, the list of edges, and the list of sources. The result is a list with one whole number for each node.
`,
  calls(_, rng) {
    const some = (nodes: number, edges: number, sources: number): Json[][] =>
      range(6).map(() => [nodes, drawnEdges(rng, nodes, edges, 8), sample(range(nodes), sources, rng)]);
    return { small: some(5, 6, 1), sparse: some(10, 11, 2), dense: some(8, 14, 2), large: some(16, 26, 3) };
  },
  solve([nodes, edges, sources]: readonly [number, readonly Edge[], readonly number[]], values, on) {
    const { end, never, heavy, life, part } = values;
    const open = edges.filter(([, , w]) => !on("heavy") || w < heavy);
    const around = (list: readonly Edge[]): number[][] =>
      range(nodes).map((node) => list.flatMap(([a, b]) => (a === node ? [b] : b === node ? [a] : [])));
    const [known, heard] = [around(edges), around(open)];
    const learnt = range(nodes).map((node) => (sources.includes(node) ? 0 : Infinity));
    for (let round = 1; round <= end; round++) {
      const tells = learnt.map((since) => since < round && (!on("forget") || round - 1 - since < life));
      for (const node of range(nodes)) {
        if (learnt[node] !== Infinity || (on("immune") && node % part === 0)) continue;
        const count = (heard[node] ?? []).filter((other) => tells[other]).length;
        const needed = on("threshold") ? Math.min(2, Math.max(1, known[node]?.length ?? 0)) : 1;
        if (count >= needed) learnt[node] = on("doubt") ? round + 1 : round;
      }
    }
    return learnt.map((round, node) => {
      if (round > end) return never;
      const friends = (known[node] ?? []).filter((other) => (learnt[other] ?? Infinity) <= end).length;
      return on("distance") ? round * 100 + friends : round;
    });
  },
  python: `
def rounds(nodes, edges, sources):
    near = {n: set() for n in range(nodes)}
    tells = {n: set() for n in range(nodes)}
    for a, b, w in edges:
        near[a].add(b)
        near[b].add(a)
        if w >= {{heavy}}: #?heavy
            continue #?heavy
        tells[a].add(b)
        tells[b].add(a)
    learnt = dict.fromkeys(sources, 0)
    for now in range(1, {{end}} + 1):
        speakers = {n for n, since in learnt.items() if since < now}
        speakers = {n for n in speakers if now - 1 - learnt[n] < {{life}}} #?forget
        for node in range(nodes):
            if node in learnt:
                continue
            if node % {{part}} == 0: #?immune
                continue #?immune
            needed = 1
            needed = 1 if len(near[node]) < 2 else 2 #?threshold
            if len(tells[node] & speakers) >= needed:
                learnt[node] = now #!doubt
                learnt[node] = now + 1 #?doubt
    final = {n: since for n, since in learnt.items() if since <= {{end}}}
    out = []
    for node in range(nodes):
        if node not in final:
            out.append({{never}})
            continue
        out.append(final[node]) #!distance
        out.append(final[node] * 100 + sum(n in final for n in near[node])) #?distance
    return out
`,
});
