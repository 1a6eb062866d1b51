/** machine-schedule: jobs on machines of different speeds so that the last one ends as early as possible. */
import { between } from "../../../../random/draws.ts";
import { at, range } from "../../lists.ts";
import { certificateRow } from "../certificate-row.ts";
import { integersIn } from "../certificate-text.ts";

interface Problem {
  jobs: number[];
  /** Minutes that a machine needs for one unit of work. */
  paces: number[];
  best: number;
}

/** By level: jobs, machines, largest job. */
const SIZES = [
  [5, 2, 20],
  [6, 3, 30],
  [8, 3, 40],
  [9, 3, 50],
  [10, 4, 60],
] as const;

export const machineSchedule = certificateRow<Problem>({
  id: "machine-schedule",
  asks: "an assignment of jobs to machines of different speeds that ends as early as possible",
  draw(rng, level) {
    const [count, machines, most] = at(SIZES, level - 1);
    const jobs = range(count).map(() => between(rng, 3, most));
    const paces = range(machines).map(() => between(rng, 2, 5));
    const start = greedyPlan({ jobs, paces });
    const { plan, best } = bestPlan({ jobs, paces }, start);
    if (endOf({ jobs, paces }, start) === best) return null;
    const certificate = plan.map((machine) => machine + 1).join(", ");
    return { problem: { jobs, paces, best }, certificate, steps: machines ** count };
  },
  proves({ jobs, paces, best }, answer) {
    const plan = integersIn(answer);
    if (plan?.length !== jobs.length || plan.some((machine) => machine < 1 || machine > paces.length)) return false;
    return (
      endOf(
        { jobs, paces },
        plan.map((machine) => machine - 1),
      ) <= best
    );
  },
  canonical: ({ jobs, paces }) => [jobs.toSorted((a, b) => a - b), paces.toSorted((a, b) => a - b)],
  prompts: [
    (one) =>
      `The jobs 1 to ${one.jobs.length} consist of ${one.jobs.join(", ")} units of work. Machine k takes ${one.paces.map((pace, index) => `${pace} minutes per unit (k = ${index + 1})`).join(", ")}; it does one job after the other, and all machines start together. Assign the jobs so that everything is finished as early as possible. ${FORMAT}`,
    (one) =>
      `Minimise the makespan on ${one.paces.length} related machines. Job sizes: ${one.jobs.join(", ")}. Time of a machine for a job: size times ${one.paces.join(" / ")} (for machine 1 / 2 / ...). Jobs are not split. ${FORMAT}`,
    (one) =>
      `${FORMAT} With loads ${one.jobs.join(", ")} and time factors ${one.paces.join(", ")} of the numbered presses, the largest of the sums (factor times the loads on that press) must be the least possible.`,
    (one) =>
      `Printers ${range(one.paces.length)
        .map((index) => index + 1)
        .join(
          ", ",
        )} need ${one.paces.join(", ")} seconds a page. Documents of ${one.jobs.join(", ")} pages wait; each goes to one printer as a whole. Find a distribution for which the last page leaves as soon as it can. ${FORMAT}`,
  ],
  slips({ jobs, paces }, certificate) {
    const plan = certificate.split(", ").map(Number);
    return [
      greedyPlan({ jobs, paces })
        .map((machine) => machine + 1)
        .join(", "),
      plan.map(() => 1).join(", "),
      plan.with(0, (at(plan, 0) % paces.length) + 1).join(", "),
      plan.slice(1).join(", "),
      plan.toReversed().join(", "),
    ];
  },
  variants: (_, certificate) => [certificate.replaceAll(",", "")],
});

const FORMAT = "For each one in the given order, name the number of the machine that gets it; separate by commas.";

type Workload = Pick<Problem, "jobs" | "paces">;

function endOf({ jobs, paces }: Workload, plan: readonly number[]): number {
  const ends = paces.map((pace, machine) =>
    jobs.reduce((sum, job, index) => sum + (plan[index] === machine ? job * pace : 0), 0),
  );
  return Math.max(...ends);
}

/** The largest job first, each to the machine that would end it earliest. */
function greedyPlan({ jobs, paces }: Workload): number[] {
  const ends = paces.map(() => 0);
  const plan = jobs.map(() => 0);
  for (const index of range(jobs.length).toSorted((a, b) => at(jobs, b) - at(jobs, a))) {
    const after = (machine: number): number => at(ends, machine) + at(jobs, index) * at(paces, machine);
    const machine = range(paces.length).reduce((a, b) => (after(b) < after(a) ? b : a));
    ends[machine] = after(machine);
    plan[index] = machine;
  }
  return plan;
}

/** Largest jobs first; a branch that is not better than the best plan so far is left. */
function bestPlan(workload: Workload, start: readonly number[]): { plan: number[]; best: number } {
  const { jobs, paces } = workload;
  const order = range(jobs.length).toSorted((a, b) => at(jobs, b) - at(jobs, a));
  let found = { plan: [...start], best: endOf(workload, start) };
  const ends = paces.map(() => 0);
  const plan = jobs.map(() => 0);
  const place = (step: number): void => {
    const index = order[step];
    if (index === undefined) {
      found = { plan: [...plan], best: Math.max(...ends) };
      return;
    }
    for (const machine of range(paces.length)) {
      const added = at(jobs, index) * at(paces, machine);
      if (at(ends, machine) + added >= found.best) continue;
      ends[machine] = at(ends, machine) + added;
      plan[index] = machine;
      place(step + 1);
      ends[machine] = at(ends, machine) - added;
    }
  };
  place(0);
  return found;
}
