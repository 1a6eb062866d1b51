/** shift-choice: the best set of jobs on a line of time under described gaps, bonuses and limits. */
import { between } from "../../../../random/draws.ts";
import { range } from "../../lists.ts";
import type { Json } from "../json.ts";
import { variantRow } from "../variant-row.ts";

export const shiftChoice = variantRow({
  id: "shift-choice",
  asks: "the best pay of jobs that do not collide, with gaps, kinds, limits and bonuses",
  name: "best_pay",
  parameters: ["jobs"],
  extras: ["gap", "kinds", "limit", "bonus", "tired", "late"],
  constants: (rng) => ({
    gap: between(rng, 1, 4),
    limit: between(rng, 2, 3),
    bonus: between(rng, 2, 9),
    tired: between(rng, 2, 6),
    hour: between(rng, 9, 20),
  }),
  stories: [
    "A driver chooses among jobs that overlap.",
    "A hall is rented out to the guests who pay best.",
    "A telescope has more requests than nights.",
    "A freelancer plans a month.",
  ],
  rules: `
A job [start, end, pay, kind] lasts from start to end. Jobs are chosen so that their pay together, with the rules below, is as large as possible; choosing none pays 0.
Two chosen jobs do not overlap; one may begin at the moment when another ends. #!gap
Two chosen jobs do not overlap; between the end of one and the start of the next there are at least {{gap}} units. #?gap
Two chosen jobs, one directly after the other in time, are not of the same kind. #?kinds
At most {{limit}} jobs are chosen. #?limit
A job that begins at most {{gap}} + 2 units after the end of the chosen job before it brings {{bonus}} more. #?bonus
Each chosen job brings {{tired}} less for every chosen job before it. #?tired
A job that ends after {{hour}} brings only half of its pay, rounded down (before other rules). #?late
`,
  types: `
The argument is the list of the jobs; the result is a whole number.
`,
  calls(_, rng) {
    const jobs = (count: number, size: number): Json =>
      range(count).map(() => {
        const start = rng.integer(size);
        return [start, start + between(rng, 1, 6), between(rng, 3, 30), rng.integer(3)];
      });
    const some = (count: number, size: number): Json[][] => range(7).map(() => [jobs(count, size)]);
    return { few: some(4, 15), dense: some(7, 14), many: some(9, 25), wide: some(8, 40) };
  },
  solve([jobs]: readonly [readonly (readonly [number, number, number, number])[]], values, on) {
    const { gap, limit, bonus, tired, hour } = values;
    const order = jobs.toSorted((a, b) => a[0] - b[0]);
    const best = (from: number, taken: number, last: readonly [number, number, number, number] | null): number => {
      let most = 0;
      if (on("limit") && taken >= limit) return 0;
      for (let index = from; index < order.length; index++) {
        const job = order[index];
        if (job === undefined) break;
        const [start, end, pay, kind] = job;
        if (last !== null && start < last[1] + (on("gap") ? gap : 0)) continue;
        if (last !== null && on("kinds") && kind === last[3]) continue;
        let gain = on("late") && end > hour ? Math.floor(pay / 2) : pay;
        if (on("bonus") && last !== null && start <= last[1] + gap + 2) gain += bonus;
        if (on("tired")) gain -= tired * taken;
        most = Math.max(most, gain + best(index + 1, taken + 1, job));
      }
      return most;
    };
    return best(0, 0, null);
  },
  python: `
def best_pay(jobs):
    jobs, top = sorted(jobs), 0
    states = {(None, 0): 0}  # last job and number of chosen jobs: best pay
    for job in jobs:
        start, end, pay, kind = job
        pay = pay // 2 if end > {{hour}} else pay #?late
        new = {}
        for (last, taken), total in states.items():
            if taken == {{limit}}: #?limit
                continue #?limit
            value = total + pay
            value -= {{tired}} * taken #?tired
            if last is not None:
                if start < last[1]: #!gap
                if start < last[1] + {{gap}}: #?gap
                    continue
                if kind == last[3]: #?kinds
                    continue #?kinds
                if start <= last[1] + {{gap}} + 2: #?bonus
                    value += {{bonus}} #?bonus
            key = (tuple(job), taken + 1)
            new[key] = max(value, new.get(key, value))
        for key, value in new.items():
            states[key] = max(value, states.get(key, value))
    return max(states.values())
`,
});
