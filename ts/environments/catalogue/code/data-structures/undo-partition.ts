/** undo-partition: groups of items that are joined, split and taken back. */
import { between } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import type { Json } from "../json.ts";
import { variantRow } from "../variant-row.ts";

type Operation = readonly [string, number, number];

export const undoPartition = variantRow({
  id: "undo-partition",
  asks: "the answers of a partition of items with joins, splits, undo and marks",
  name: "partition",
  parameters: ["operations"],
  extras: ["larger", "idle", "cap", "redo", "marks", "split", "sum"],
  constants: (rng) => ({ items: between(rng, 6, 11), refused: -between(rng, 1, 40), limit: between(rng, 4, 6) }),
  stories: [
    "A tool for maps merges regions, and its users often change their minds.",
    "Teams are merged during a reorganisation that is planned in many steps.",
    "An editor keeps shapes in groups and can go back to earlier states.",
    "Circuits are connected one after the other, and connections are taken back.",
  ],
  rules: `
There are {{items}} items with the numbers 0 to {{items}} minus 1. At first each is alone in its group, and is the leader of it.
["join", a, b] makes one group of the groups of a and b. The leader of the group of a leads the new group. #!larger
["join", a, b] makes one group of the groups of a and b. The leader of the larger of the two groups leads the new group; if they are equally large, the leader of the group of a does. #?larger
A join of two items that are in one group already changes nothing and is no step. #!idle
A join of two items that are in one group already changes nothing, but it is a step all the same. #?idle
A join that would give more than {{limit}} items in one group changes nothing, is no step, and adds {{refused}} to the result. #?cap
["split", a] takes the item a out of its group, so that it is alone and its own leader. If it led others, the smallest of them leads them from now on. It is a step, unless a was alone. #?split
["undo"] takes the last step back that has not been taken back, if there is one.
["redo"] carries out again what the last undo took back, if nothing was a step since then; several times in a row it goes further forward. #?redo
["mark"] remembers how many steps there are now that have not been taken back; ["back"] takes steps back until there are only that many, as often as needed, and forgets this mark; without a mark it does nothing. Marks are a stack. #?marks
["same", a, b] adds 1 to the result if a and b are in one group and 0 otherwise; ["leader", a] adds the leader of the group of a.
["size", a] adds the number of items in the group of a. #!sum
["size", a] adds the sum of the numbers of the items in the group of a. #?sum
["leaders"] adds the list of all leaders in ascending order.
`,
  types: `
The argument is the list of operations, each of which is a list as shown. The result is the list of what they added, in order.
`,
  calls({ items }, rng, on) {
    const some = (length: number): Json[][] => range(7).map(() => [drawn(items, length, rng, on)]);
    return { short: some(9), medium: some(16), long: some(30), longest: some(55) };
  },
  solve([operations]: readonly [readonly Operation[]], { items, refused, limit }, on) {
    let leaders = range(items);
    let [past, future]: [number[][], number[][]] = [[], []];
    const marks: number[] = [];
    const out: Json[] = [];
    const step = (next: number[]): void => {
      past.push(leaders);
      future = [];
      leaders = next;
    };
    const move = (from: number[][], to: number[][]): void => {
      const next = from.pop();
      if (next === undefined) return;
      to.push(leaders);
      leaders = next;
    };
    const members = (leader: number): number[] => range(items).filter((item) => leaders[item] === leader);
    for (const [kind, a, b] of operations) {
      const [first, second] = [leaders[a] ?? 0, leaders[b] ?? 0];
      if (kind === "join") {
        const sizes = [members(first).length, members(second).length] as const;
        const winner = on("larger") && sizes[1] > sizes[0] ? second : first;
        if (first !== second && on("cap") && sizes[0] + sizes[1] > limit) out.push(refused);
        else if (first !== second || on("idle"))
          step(leaders.map((leader) => (leader === first || leader === second ? winner : leader)));
      } else if (kind === "split") {
        const others = members(first).filter((item) => item !== a);
        if (others.length === 0) continue;
        const next = [...leaders];
        for (const item of others) next[item] = first === a ? at(others, 0) : first;
        next[a] = a;
        step(next);
      } else if (kind === "undo") move(past, future);
      else if (kind === "redo") move(future, past);
      else if (kind === "mark") marks.push(past.length);
      else if (kind === "back") {
        const mark = marks.pop() ?? past.length;
        for (let turn = past.length; turn > mark; turn--) move(past, future);
      } else if (kind === "same") out.push(first === second ? 1 : 0);
      else if (kind === "leader") out.push(first);
      else if (kind === "size") out.push(members(first).reduce((sum, item) => sum + (on("sum") ? item : 1), 0));
      else out.push([...new Set(leaders)].toSorted((x, y) => x - y));
    }
    return out;
  },
  python: `
def partition(operations):
    leader = list(range({{items}}))
    past, future, marks, out = [], [], [], []

    def group(item):
        return [i for i in range({{items}}) if leader[i] == leader[item]]

    def step(changed):
        nonlocal leader
        past.append(leader)
        future.clear()
        leader = changed

    def back():
        nonlocal leader
        future.append(leader)
        leader = past.pop()

    for kind, *rest in operations:
        if kind == "join":
            first, second = group(rest[0]), group(rest[1])
            changed = list(leader)
            winner = leader[rest[0]]
            if len(second) > len(first): #?larger
                winner = leader[rest[1]] #?larger
            for item in first + second:
                changed[item] = winner
            if first == second:
                step(changed) #?idle
                continue
            if len(first) + len(second) > {{limit}}: #?cap
                out.append({{refused}}) #?cap
                continue #?cap
            step(changed)
        elif kind == "split": #?split
            rest_of_it = [i for i in group(rest[0]) if i != rest[0]] #?split
            if rest_of_it: #?split
                changed = list(leader) #?split
                if leader[rest[0]] == rest[0]: #?split
                    for item in rest_of_it: #?split
                        changed[item] = rest_of_it[0] #?split
                changed[rest[0]] = rest[0] #?split
                step(changed) #?split
        elif kind == "undo":
            if past:
                back()
        elif kind == "redo": #?redo
            if future: #?redo
                past.append(leader) #?redo
                leader = future.pop() #?redo
        elif kind == "mark": #?marks
            marks.append(len(past)) #?marks
        elif kind == "back": #?marks
            mark = marks.pop() if marks else len(past) #?marks
            while len(past) > mark: #?marks
                back() #?marks
        elif kind == "same":
            out.append(int(leader[rest[0]] == leader[rest[1]]))
        elif kind == "leader":
            out.append(leader[rest[0]])
        elif kind == "size":
            out.append(len(group(rest[0]))) #!sum
            out.append(sum(group(rest[0]))) #?sum
        elif kind == "leaders":
            out.append(sorted(set(leader)))
    return out
`,
});

type Extra = "redo" | "marks" | "split";

function drawn(items: number, length: number, rng: Rng, on: (extra: Extra) => boolean): Json {
  const kinds = [
    ..."join join join join undo undo same leader size".split(" "),
    ...(on("redo") ? ["redo"] : []),
    ...(on("marks") ? ["mark", "back"] : []),
    ...(on("split") ? ["split"] : []),
  ];
  const item = (): number => rng.integer(items);
  const one = (): Json => {
    const kind = rng.pick(kinds);
    if (kind === "join" || kind === "same") return [kind, item(), item()];
    return ["leader", "size", "split"].includes(kind) ? [kind, item()] : [kind];
  };
  return [...range(length).map(one), ["leaders"]];
}
