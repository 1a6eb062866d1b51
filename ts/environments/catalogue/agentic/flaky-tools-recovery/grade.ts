/** What the end of a world of flaky-tools-recovery earns. */
import { aboveBase } from "../records.ts";
import type { Instance, Job } from "./instance.ts";
import { careless, claimed } from "./recovery.ts";
import type { World } from "./world.ts";

/** Jobs that ended as they had to and are entered so, less those that have an effect too many or a false entry, among all. */
export function jobShare({ jobs }: Instance, world: World): number {
  const points = jobs.map((job): number => {
    const outcome = job.steps.some(({ declines }) => declines) ? "undone" : "done";
    const entry = world.entries.get(job.id);
    const over = excesses(job, world);
    if (over.some((one) => one > 0)) return -1;
    if (entry === undefined) return 0;
    return entry === outcome && over.every((one) => one === 0) ? 1 : -1;
  });
  return Math.max(0, points.reduce((sum, one) => sum + one, 0) / jobs.length);
}

/** The best of what requests without care and entries without deeds get. */
export function easyShare(instance: Instance): number {
  const easy = [
    careless(instance, 1),
    careless(instance, 2),
    careless(instance, "until accepted"),
    claimed(instance, "done"),
    claimed(instance, "undone"),
  ];
  return Math.max(...easy.map(({ world }) => jobShare(instance, world)));
}

/** The share above that. */
export function grade(instance: Instance, world: World): number {
  return aboveBase(jobShare(instance, world), easyShare(instance));
}

/** Of each kind of fault that a request could meet, and of declined jobs, the share of steps that ended with the right amount. */
export function passedParts({ jobs }: Instance, world: World): Record<string, number> {
  const steps = jobs.flatMap((job) =>
    excesses(job, world).map((over, index) => {
      const { outcomes = [], declines = false } = job.steps[index] ?? {};
      const isDeclined = job.steps.some((step) => step.declines);
      const parts = [...outcomes.filter((outcome) => outcome !== "done"), isDeclined ? "declined" : "wanted"];
      return { parts: new Set([...parts, declines ? "declining" : "accepting"]), isRight: over === 0 };
    }),
  );
  const names = new Set(steps.flatMap(({ parts }) => [...parts]));
  const entries = jobs.filter(({ id }) => world.entries.has(id)).length / jobs.length;
  const shares = [...names].map((name): [string, number] => {
    const those = steps.filter(({ parts }) => parts.has(name));
    return [name, those.filter(({ isRight }) => isRight).length / those.length];
  });
  return { ...Object.fromEntries(shares), entered: entries };
}

/** How much each step has above what the job has to leave. */
function excesses({ id, steps }: Job, world: World): number[] {
  const isDeclined = steps.some(({ declines }) => declines);
  return steps.map(({ service, amount }) => world.total(id, service) - (isDeclined ? 0 : amount));
}
