/** work-order: an order of tasks under dependencies with described ties, batches, soft rules and circles. */
import { between, sample } from "../../../../random/draws.ts";
import { range } from "../../lists.ts";
import type { Json } from "../json.ts";
import { variantRow } from "../variant-row.ts";

export const workOrder = variantRow({
  id: "work-order",
  asks: "an order of tasks with dependencies, priorities, batches, wishes and a rule for circles",
  name: "order",
  parameters: ["tasks", "before"],
  extras: ["batches", "urgent", "late", "circles", "stay", "wishes"],
  constants: (rng) => ({
    size: between(rng, 2, 4),
    least: between(rng, 4, 7),
    mark: rng.pick(["!", "stop", "loop", "circle"]),
    wish: between(rng, 8, 12),
    weight: between(rng, 2, 9),
  }),
  stories: [
    "A build tool decides in which order it works.",
    "Chapters of a course depend on one another.",
    "Packages are installed in an order that respects what they need.",
    "A kitchen plans the steps of a menu.",
  ],
  rules: `
A task [name, rank] may be done when all tasks that stand before it in a pair [earlier, later, kind] with it as the later one are done.
Among the tasks that may be done now, the one with the smallest rank is next, and of several the one whose name is alphabetically first. #!late
Among the tasks that may be done now, the one with the largest rank is next, and of several the one whose name is alphabetically last. #?late
If among the tasks that may be done now there are some with a rank of {{least}} or more, only those are considered; the rest of the rule stays as it is. #?urgent
After a task, if one of the tasks that may be done now has the task just done as an earlier one in a pair, only such tasks are considered. This comes before any other choice. #?stay
The tasks are put out one by one. #!batches
The tasks are put out in batches: all that may be done at the beginning of a batch, but not more than {{size}}, in the order of the rules above, where "the task just done" is the last one of the batch before for the whole batch. #?batches
Pairs count only if their kind is below {{wish}}. #!wishes
Pairs whose kind is {{wish}} or more are wishes: they count only until no task may be done; then all wishes whose later task is not done yet are dropped for good, and it goes on. #?wishes
If tasks are left, but none may be done, "{{mark}}" is put out and everything ends. #!circles
If tasks are left, but none may be done, then of those the task for which {{weight}} * (number of its earlier tasks that are not done) + rank is smallest, and of several the alphabetically first, is done next (a batch by itself) without more conditions. #?circles
`,
  types: `
The first argument is the list of the tasks, the second the list of the pairs. The result is the list of the names. #!batches
The first argument is the list of the tasks, the second the list of the pairs. The result is the list of the batches, each a list of names; "{{mark}}" would be a batch by itself. #?batches
`,
  calls(_, rng) {
    const problem = (count: number, pairs: number): Json[] => {
      const names = sample("abcdefghijklm", count, rng);
      const tasks = names.map((name) => [name, between(rng, 1, 9)]);
      const before = range(pairs).flatMap((): [string, string, number][] => {
        const [a, b] = [rng.integer(count), rng.integer(count)];
        const [low, high] = rng.integer(12) === 0 ? [b, a] : [Math.min(a, b), Math.max(a, b)];
        return a === b ? [] : [[names[low] ?? "", names[high] ?? "", between(rng, 1, 14)]];
      });
      return [tasks, before];
    };
    const some = (count: number, pairs: number): Json[][] => range(6).map(() => problem(count, pairs));
    return { few: some(5, 4), more: some(7, 8), many: some(10, 14), most: some(13, 12) };
  },
  solve(
    [tasks, before]: readonly [readonly (readonly [string, number])[], readonly (readonly [string, string, number])[]],
    { size, least, mark, wish, weight },
    on,
  ) {
    let pairs = before.filter(([, , kind]) => kind < wish || on("wishes"));
    const ranks = new Map(tasks);
    const rank = (name: string): number => ranks.get(name) ?? 0;
    const done = new Set<string>();
    const out: string[][] = [];
    let last = "";
    const free = (): string[] =>
      tasks
        .map(([name]) => name)
        .filter((name) => !done.has(name) && pairs.every(([a, b]) => b !== name || done.has(a)));
    const next = (names: readonly string[]): string => {
      let some = names;
      const behind = some.filter((name) => pairs.some(([a, b]) => a === last && b === name));
      if (on("stay") && behind.length > 0) some = behind;
      const urgent = some.filter((name) => rank(name) >= least);
      if (on("urgent") && urgent.length > 0) some = urgent;
      const sorted = some.toSorted((a, b) => rank(a) - rank(b) || (a < b ? -1 : 1));
      return sorted.at(on("late") ? -1 : 0) ?? "";
    };
    while (done.size < tasks.length) {
      let names = free();
      const batch: string[] = [];
      if (names.length === 0) {
        const kept = pairs.filter(([, b, kind]) => kind < wish || done.has(b));
        if (on("wishes") && kept.length < pairs.length) {
          pairs = kept;
          continue;
        }
        if (!on("circles")) {
          out.push([mark]);
          break;
        }
        const cost = (name: string): number =>
          weight * new Set(pairs.filter(([a, b]) => b === name && !done.has(a)).map(([a]) => a)).size + rank(name);
        const [forced = ""] = tasks
          .map(([name]) => name)
          .filter((name) => !done.has(name))
          .toSorted((a, b) => cost(a) - cost(b) || (a < b ? -1 : 1));
        batch.push(forced);
      } else
        for (let turn = on("batches") ? size : 1; turn > 0 && names.length > 0; turn--) {
          const one = next(names);
          batch.push(one);
          names = names.filter((name) => name !== one);
        }
      for (const name of batch) done.add(name);
      last = batch.at(-1) ?? "";
      out.push(batch);
    }
    return on("batches") ? out : out.flat();
  },
  python: `
def order(tasks, before):
    rank = dict(map(tuple, tasks))
    pairs = [tuple(pair) for pair in before]
    pairs = [pair for pair in pairs if pair[2] < {{wish}}] #!wishes
    done, out, last = [], [], None

    def missing(name):
        return {a for a, b, _ in pairs if b == name and a not in done}

    while len(done) < len(tasks):
        free = [name for name in rank if name not in done and not missing(name)]
        batch = []
        if not free:
            kept = [p for p in pairs if p[2] < {{wish}} or p[1] in done] #?wishes
            if kept != pairs: #?wishes
                pairs = kept #?wishes
                continue #?wishes
            out.append(["{{mark}}"]) #!circles
            break #!circles
            left = [name for name in rank if name not in done] #?circles
            batch = [min(left, key=lambda n: ({{weight}} * len(missing(n)) + rank[n], n))] #?circles
        size = 1
        size = {{size}} #?batches
        while free and len(batch) < size:
            some = free
            some = [n for n in some if (last, n) in {p[:2] for p in pairs}] or some #?stay
            some = [n for n in some if rank[n] >= {{least}}] or some #?urgent
            one = min(some, key=lambda n: (rank[n], n)) #!late
            one = max(some, key=lambda n: (rank[n], n)) #?late
            free.remove(one)
            batch.append(one)
        done += batch
        last = batch[-1]
        out.append(batch)
    return out #?batches
    return [name for batch in out for name in batch] #!batches
`,
});
