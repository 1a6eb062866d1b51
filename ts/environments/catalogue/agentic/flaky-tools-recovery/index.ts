/** flaky-tools-recovery: jobs over several services that lose, delay, divide and repeat requests are brought to their ends exactly once. */
import { at } from "../../lists.ts";
import { type Call, defineWorldRow, type Family, type Script, type WorldRow } from "../../row.ts";
import { drawInstance } from "./generator.ts";
import { grade, passedParts } from "./grade.ts";
import type { Instance, Trap } from "./instance.ts";
import { careless, claimed, recovered } from "./recovery.ts";
import { TOOLS } from "./tools.ts";
import { PROMPTS } from "./wordings.ts";
import { World } from "./world.ts";

const SLIPS: Readonly<Record<Trap, string>> = {
  haste: "looks before effects are shown",
  "one-by-one": "waits for each uncertain step by itself",
  log: "does not read the log",
  compensation: "leaves what a declined job has",
  order: "does not put last what cannot be undone",
  acceptance: "believes that accepted means once",
  "old-keys": "uses keys that are forgotten",
};

const row: WorldRow = defineWorldRow<Instance, World>({
  id: "flaky-tools-recovery",
  asks: "bring jobs over several services to their ends exactly once, with keys that expire, late effects, declined jobs and an earlier worker's requests",
  make: drawInstance,
  effort: (instance) => recovered(instance).calls.length,
  canonical: skeleton,
  prompts: PROMPTS,
  tools: TOOLS,
  offered: ({ earlier }) => Object.keys(TOOLS).filter((name) => name !== "read_log" || earlier.length > 0),
  world: (instance) => new World(instance),
  gold: (instance) => recovered(instance).calls,
  slips: (instance) => ({
    ...Object.fromEntries(instance.traps.map((trap) => [SLIPS[trap], recovered(instance, trap).calls])),
    "enters the opposite for a job": untrue(instance),
    "asks for each step once": careless(instance, 1).calls,
    "asks until it is accepted": careless(instance, "until accepted").calls,
  }),
  blankets: (instance) => ({
    "asks for each step once": careless(instance, 1).calls,
    "asks for each step twice": careless(instance, 2).calls,
    "asks until it is accepted": careless(instance, "until accepted").calls,
    "enters that all is done": claimed(instance, "done").calls,
    "enters that all is undone": claimed(instance, "undone").calls,
  }),
  grade,
  parts: passedParts,
});

export const flakyToolsRecovery: Family<WorldRow> = { id: "flaky-tools-recovery", rows: [row] };

/** The protocols and fault schedules, without names, amounts and minutes: evaluation has ones that training never draws. */
function skeleton({ services, jobs, earlier, undoing }: Instance): unknown {
  const kinds = new Map(
    services.map(({ name, keyed, undoable }) => [name, `${keyed === null ? "-" : "k"}${undoable ? "u" : "-"}`]),
  );
  const stepsOf = (id: string): string[] =>
    at(
      jobs.filter((job) => job.id === id),
      0,
    ).steps.map(({ service, outcomes, declines }) => {
      const isBegun = earlier.some((one) => one.job === id && one.service === service);
      return [kinds.get(service), ...outcomes, declines ? "declines" : "", isBegun ? "begun" : ""].join(" ");
    });
  return [undoing, jobs.map(({ id }) => stepsOf(id).toSorted().join("; ")).toSorted()];
}

/** The gold script with the opposite entry for the first job. */
function untrue(instance: Instance): Script {
  const { id } = at(instance.jobs, 0);
  return recovered(instance).calls.map((one): Call => {
    const { job, outcome } = one.args;
    if (one.tool !== "enter" || job !== id) return one;
    return { tool: "enter", args: { job, outcome: outcome === "done" ? "undone" : "done" } };
  });
}
