/** tree-paths: answers about paths in a tree that is cut, hung elsewhere and weighted. */
import { between } from "../../../../random/draws.ts";
import { at, range } from "../../lists.ts";
import type { Json } from "../json.ts";
import { variantRow } from "../variant-row.ts";

export const treePaths = variantRow({
  id: "tree-paths",
  asks: "answers about paths, ancestors and parts of a tree that changes",
  name: "answers",
  parameters: ["parents", "values", "commands"],
  extras: ["move", "ends", "largest", "alternate", "limit", "below"],
  constants: (rng) => ({
    none: -between(rng, 100, 900),
    limit: between(rng, 2, 5),
    add: between(rng, 1, 9),
    factor: between(rng, 2, 5),
  }),
  stories: [
    "The departments of a firm form a tree, and questions about it come every day.",
    "Branches of a river are stored as a tree.",
    "Folders on a server have sizes and are moved around.",
    "A family tree of plants is analysed.",
  ],
  rules: `
Node 0 is the root; parents[i] is the parent of node i for all others (parents[0] is -1), and values[i] is the value of node i.
["path", a, b] adds the sum of the values on the path from a to b to the result, both ends included. #!ends #!largest #!alternate
["path", a, b] adds the sum of the values on the path from a to b to the result, but without both ends (0, if nothing is left). #?ends #!largest #!alternate
["path", a, b] adds the largest value on the path from a to b to the result, both ends included. #!ends #?largest #!alternate
["path", a, b] adds the largest value on the path from a to b to the result, but without both ends ({{none}}, if nothing is left). #?ends #?largest #!alternate
["path", a, b] adds the value of a minus the next one on the path to b plus the one after it, and so on with changing signs, up to b, to the result. #!ends #!largest #?alternate
["path", a, b] adds the first value minus the second plus the third, and so on with changing signs, of the nodes on the path from a to b without both ends, to the result (0, if there are none). #?ends #!largest #?alternate
["path", a, b] adds the largest of the values on the path from a to b to the result, where every second value, beginning with the second one, counts with the other sign; both ends are included. #!ends #?largest #?alternate
["path", a, b] adds the largest of the values on the path from a to b without both ends to the result ({{none}}, if there are none), where every second of them, beginning with the second one, counts with the other sign. #?ends #?largest #?alternate
["meet", a, b] adds the number of the deepest node that is a or above a, and also b or above b.
["above", a, n] adds the number of the node n steps above a, or {{none}} if there is none. #!limit
["above", a, n] adds the number of the node n steps above a, or the root if there is none; but never further than {{limit}} steps. #?limit
["part", a] adds the sum of the values of a and all nodes below it. #!below
["part", a] adds the sum of the values of a and all nodes below it, each multiplied by 1 plus the number of steps from a down to it, times {{factor}}. #?below
["gain", a, v] makes the value of a larger by v + {{add}}.
["hang", a, b] makes b the parent of a, if a is not the root and b is neither a nor below a; otherwise nothing happens. #?move
`,
  types: `
The arguments are the two lists and the list of the commands. The result is the list of the added numbers.
`,
  calls(_, rng, on) {
    const kinds = [..."path path path meet above part gain".split(" "), ...(on("move") ? ["hang", "hang"] : [])];
    const call = (nodes: number, count: number): Json[] => {
      const parents = range(nodes).map((node) => (node === 0 ? -1 : Math.max(0, node - between(rng, 1, 4))));
      const commands = range(count).map((): Json => {
        const kind = rng.pick(kinds);
        const a = rng.integer(nodes);
        if (kind === "part") return [kind, a];
        return [kind, a, kind === "above" || kind === "gain" ? between(rng, 1, 5) : rng.integer(nodes)];
      });
      return [parents, range(nodes).map(() => between(rng, -20, 40)), commands];
    };
    const some = (nodes: number, count: number): Json[][] => range(6).map(() => call(nodes, count));
    return { small: some(5, 5), medium: some(8, 7), large: some(13, 9), busy: some(9, 20) };
  },
  solve(
    [parents, values, commands]: readonly [
      readonly number[],
      readonly number[],
      readonly (readonly [string, number, number])[],
    ],
    { none, limit, add, factor },
    on,
  ) {
    const [up, amounts] = [[...parents], [...values]];
    const out: number[] = [];
    const line = (node: number): number[] => {
      const nodes: number[] = [];
      for (let now = node; now >= 0; now = at(up, now)) nodes.push(now);
      return nodes;
    };
    for (const [kind, a, b] of commands) {
      const [first, second] = [line(a), kind === "path" || kind === "meet" || kind === "hang" ? line(b) : []];
      const meeting = first.find((node) => second.includes(node)) ?? 0;
      if (kind === "gain") amounts[a] = at(amounts, a) + b + add;
      if (kind === "hang" && a !== 0 && !second.includes(a)) up[a] = b;
      if (kind === "meet") out.push(meeting);
      if (kind === "above") out.push(on("limit") ? (first[Math.min(b, limit)] ?? 0) : (first[b] ?? none));
      if (kind === "part") {
        const places = range(up.length).map((node) => line(node).indexOf(a));
        out.push(
          places.reduce(
            (sum, steps, node) => sum + (steps < 0 ? 0 : at(amounts, node) * (on("below") ? (1 + steps) * factor : 1)),
            0,
          ),
        );
      }
      if (kind !== "path") continue;
      const whole = [
        ...first.slice(0, first.indexOf(meeting) + 1),
        ...second.slice(0, second.indexOf(meeting)).toReversed(),
      ];
      const nodes = on("ends") ? whole.slice(1, -1) : whole;
      const signed = nodes.map((node, index) => at(amounts, node) * (on("alternate") && index % 2 === 1 ? -1 : 1));
      if (on("largest")) out.push(signed.length === 0 ? none : Math.max(...signed));
      else out.push(signed.reduce((sum, value) => sum + value, 0));
    }
    return out.map((value) => (Object.is(value, -0) ? 0 : value));
  },
  python: `
def answers(parents, values, commands):
    parents, values, out = list(parents), list(values), []

    def line(node):
        nodes = []
        while node >= 0:
            nodes.append(node)
            node = parents[node]
        return nodes

    for kind, a, *rest in commands:
        up = line(a)
        if kind == "part":
            total = 0
            for node in range(len(parents)):
                way = line(node)
                if a in way:
                    weight = 1
                    weight = (1 + way.index(a)) * {{factor}} #?below
                    total += values[node] * weight
            out.append(total)
        elif kind == "gain":
            values[a] += rest[0] + {{add}}
        elif kind == "above":
            n = rest[0]
            out.append(up[n] if n < len(up) else {{none}}) #!limit
            n = min(n, {{limit}}) #?limit
            out.append(up[n] if n < len(up) else 0) #?limit
        elif kind == "hang": #?move
            if a != 0 and a not in line(rest[0]): #?move
                parents[a] = rest[0] #?move
        elif kind in ("meet", "path"):
            other = line(rest[0])
            while len(up) > 1 and len(other) > 1 and up[-2] == other[-2]:
                up.pop()
                other.pop()
            if kind == "meet":
                out.append(up[-1])
                continue
            nodes = up + other[-2::-1] if len(other) > 1 else up
            nodes = nodes[1:-1] #?ends
            found = [values[node] for node in nodes]
            found = [-v if i % 2 else v for i, v in enumerate(found)] #?alternate
            out.append(sum(found)) #!largest
            out.append(max(found, default={{none}})) #?largest
    return out
`,
});
