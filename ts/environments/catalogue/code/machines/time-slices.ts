/** time-slices: who runs when on one processor under a described scheduler. */
import { between } from "../../../../random/draws.ts";
import { at, range } from "../../lists.ts";
import type { Json } from "../json.ts";
import { variantRow } from "../variant-row.ts";

export const timeSlices = variantRow({
  id: "time-slices",
  asks: "the schedule of one processor with time slices, priorities, switches and waiting",
  name: "schedule",
  parameters: ["jobs"],
  extras: ["priority", "aging", "switch", "late-first", "double", "block"],
  constants: (rng) => ({
    slice: between(rng, 2, 7),
    cost: between(rng, 1, 3),
    wait: between(rng, 4, 14),
    rest: between(rng, 2, 9),
  }),
  stories: [
    "A small operating system gives its processor to jobs in turns.",
    "One machine in a workshop serves several orders in turns.",
    "A simulator for schedulers needs a new policy.",
    "People share one telescope, and a rule decides who uses it next.",
  ],
  rules: `
Job i, counted from 0, arrives at its time and needs the processor for its length. Arrived jobs wait in a queue.
The processor, when it is free, takes the job that is first in the queue. #!priority
The processor, when it is free, takes the job with the highest priority in the queue, and of several the one that is first in the queue. #?priority
It runs for {{slice}} units, or less if it is finished before. A job that is not finished then goes to the end of the queue. #!double
It runs for {{slice}} units in its first turn, for twice as many as in the turn before in each later turn, or less if it is finished before. A job that is not finished then goes to the end of the queue. #?double
Jobs that arrive while another one runs, or at the moment when its turn ends, go to the end of the queue before the job whose turn ends; those that arrive at the same time in the order of their numbers. #!late-first
Jobs that arrive while another one runs, or at the moment when its turn ends, go to the end of the queue before the job whose turn ends, except those that arrive at that very moment, which go behind it; those that arrive at the same time in the order of their numbers. #?late-first
Each time the processor takes a job other than the one that ran last, {{cost}} units pass before it runs (not for the very first job); arrivals in them count as arrivals while a job runs. #?switch
At the end of each turn, the priority of each job that has waited in the queue for at least {{wait}} units since it came to the end of the queue grows by 1, and its waiting starts again. The job whose turn ends is not in the queue yet, but those that arrived are. #?aging
A job whose turn ends unfinished comes back to the queue only {{rest}} units later, as if it arrived then (behind jobs that arrive at that time for the first time). #?block
If the queue is empty, the processor waits for the next arrival.
`,
  types: `
The argument is a list of jobs [arrival, length, priority], arrivals in ascending order. The result is the list of the turns [job, start, end], in order.
`,
  calls(_, rng) {
    const jobs = (count: number, gap: number, length: number): Json => {
      let time = 0;
      return range(count).map(() => [(time += rng.integer(gap)), between(rng, 1, length), rng.integer(4)]);
    };
    const some = (count: number, gap: number, length: number): Json[][] =>
      range(6).map(() => [jobs(count, gap, length)]);
    return { few: some(3, 4, 9), busy: some(5, 3, 12), calm: some(4, 12, 8), many: some(9, 5, 10) };
  },
  solve([jobs]: readonly [readonly (readonly [number, number, number])[]], { slice, cost, wait, rest }, on) {
    const left = jobs.map(([, length]) => length);
    const priority = jobs.map((job) => job[2]);
    const turns = jobs.map(() => 0);
    let coming = jobs.map(([time], job) => ({ time, job, isBack: 0 }));
    let queue: { job: number; since: number }[] = [];
    const out: number[][] = [];
    let [now, last] = [0, -1];
    const arrive = (until: number): void => {
      const due = coming.filter(({ time }) => time <= until);
      coming = coming.filter(({ time }) => time > until);
      due.sort((a, b) => a.time - b.time || a.isBack - b.isBack || a.job - b.job);
      queue.push(...due.map(({ time, job }) => ({ job, since: time })));
    };
    for (;;) {
      arrive(now);
      if (queue.length === 0) {
        if (coming.length === 0) return out;
        now = Math.min(...coming.map(({ time }) => time));
        continue;
      }
      const best = on("priority") ? Math.max(...queue.map(({ job }) => at(priority, job))) : 0;
      const { job } = at(
        queue.filter((one) => !on("priority") || priority[one.job] === best),
        0,
      );
      queue = queue.filter((one) => one.job !== job);
      if (on("switch") && last >= 0 && last !== job) now += cost;
      last = job;
      const share = slice * (on("double") ? 2 ** at(turns, job) : 1);
      const end = now + Math.min(share, at(left, job));
      out.push([job, now, end]);
      turns[job] = at(turns, job) + 1;
      left[job] = at(left, job) - (end - now);
      now = end;
      arrive(on("late-first") ? now - 1 : now);
      if (on("aging"))
        for (const one of queue)
          if (now - one.since >= wait) {
            priority[one.job] = at(priority, one.job) + 1;
            one.since = now;
          }
      if (at(left, job) === 0) continue;
      if (on("block")) coming.push({ time: now + rest, job, isBack: 1 });
      else queue.push({ job, since: now });
    }
  },
  python: `
def schedule(jobs):
    left = [job[1] for job in jobs]
    priority = [job[2] for job in jobs]
    turns = [0] * len(jobs)
    coming = [(job[0], 0, i) for i, job in enumerate(jobs)]
    queue, out, now, last = [], [], 0, None

    def arrive(until):
        coming.sort()
        while coming and coming[0][0] <= until:
            time, _, i = coming.pop(0)
            queue.append([i, time])

    while True:
        arrive(now)
        if not queue:
            if not coming:
                return out
            now = coming[0][0]
            continue
        one = queue[0] #!priority
        one = max(queue, key=lambda entry: priority[entry[0]]) #?priority
        queue.remove(one)
        i = one[0]
        if last not in (None, i): #?switch
            now += {{cost}} #?switch
        last = i
        share = {{slice}} #!double
        share = {{slice}} << turns[i] #?double
        end = now + min(share, left[i])
        out.append([i, now, end])
        turns[i] += 1
        left[i] -= end - now
        now = end
        arrive(now) #!late-first
        arrive(now - 1) #?late-first
        for entry in queue: #?aging
            if now - entry[1] >= {{wait}}: #?aging
                priority[entry[0]] += 1 #?aging
                entry[1] = now #?aging
        if left[i]:
            queue.append([i, now]) #!block
            coming.append((now + {{rest}}, 1, i)) #?block
`,
});
