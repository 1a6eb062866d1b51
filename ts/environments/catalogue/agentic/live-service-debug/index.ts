/** live-service-debug: find the faults of a running service, repair its source, restart it, and keep its data and its users served. */
import { z } from "zod";

import { defineWorldRow, type Family, worldTool, type WorldRow } from "../../row.ts";
import { blanketsOf, make, scriptOf, slipsOf, testsPassed } from "./generator.ts";
import { type Instance, Live } from "./live.ts";
import { DOMAINS, FAULTS, FILES, sourcesOf } from "./source.ts";
import { PROMPTS } from "./wordings.ts";

const file = z.enum(FILES);
const line = z.int().min(0).max(1_000);

const tools = {
  status: worldTool<Live, z.ZodObject>({
    description: "Shows the counts so far and the last requests of clients with their answers; takes no time",
    parameters: z.object({}),
    run: (live) => live.status(),
  }),
  read: worldTool({
    description: "Reads a file of the source, with numbers of lines",
    parameters: z.object({ file }),
    run: (live: Live, asked) => live.read(asked.file),
  }),
  edit: worldTool({
    description:
      "Puts text in the place of the lines from..to of a file; with to = from - 1 it is put before the line from",
    parameters: z.object({ file, from: line.min(1), to: line, text: z.string().max(2_000) }),
    run: (live: Live, { file: name, from, to, text }) => live.edit(name, from, to, text),
  }),
  request: worldTool({
    description: "Sends a request for a test account to the running service",
    parameters: z.object({
      op: z.enum([...new Set(DOMAINS.flatMap(({ ops }) => ops))]),
      key: z.string().max(20),
      other: z.string().max(20).default(""),
      amount: z.int().min(-1_000).max(1_000_000).default(0),
      id: z.string().max(20).optional(),
    }),
    run: (live: Live, request) => live.request(request),
  }),
  wait: worldTool({
    description: "Lets minutes pass",
    parameters: z.object({ minutes: z.int().min(1).max(10) }),
    run: (live: Live, { minutes }) => live.wait(minutes),
  }),
  restart: worldTool({
    description:
      "Restarts the service with the files as they are; save keeps the jobs that wait, kill loses them and is faster",
    parameters: z.object({ queue: z.enum(["save", "kill"]) }),
    run: (live: Live, { queue }) => live.restart(queue),
  }),
  restore: worldTool<Live, z.ZodObject>({
    description: "Brings the backup of last night back into the store",
    parameters: z.object({}),
    run: (live) => live.restore(),
  }),
};

/** Shares of tests, of jobs and of requests at the end. */
function sharesOf(instance: Instance, live: Live): { repaired: number; kept: number; served: number } {
  live.finish();
  const passed = testsPassed(instance, live.running);
  return {
    repaired: passed.filter(Boolean).length / passed.length,
    kept: live.isRestored ? 0 : 1 - live.lost / Math.max(1, live.queued),
    served: Math.min(1, live.answered / instance.answered),
  };
}

function grade(instance: Instance, live: Live): number {
  const { repaired, kept, served } = sharesOf(instance, live);
  return (repaired * Math.max(0, kept) * served) ** 2;
}

const row: WorldRow = defineWorldRow<Instance, Live>({
  id: "live-service-debug",
  asks: "a running service with wrong answers: find the faulty lines, repair them, restart, keep data and uptime",
  make,
  effort: (instance) => sourcesOf(instance).join("").split("\n").length + 30 * instance.faults.length,
  canonical: ({ rules, faults }) => [rules, faults],
  prompts: PROMPTS,
  tools,
  world: (instance) => new Live(instance),
  gold: (instance) => scriptOf(instance),
  slips: slipsOf,
  blankets: blanketsOf,
  grade,
  parts: (instance, live) => {
    const passed = testsPassed(instance, live.running);
    const files = instance.faults.map((id, index): [string, number] => [
      `file/${FAULTS.find((one) => one.id === id)?.file ?? ""}`,
      Number(passed[index] === true),
    ]);
    const faults = instance.faults.map((id, index): [string, number] => [
      `fault/${id}`,
      Number(passed[index] === true),
    ]);
    return { ...sharesOf(instance, live), ...Object.fromEntries([...files, ...faults]) };
  },
});

export const liveServiceDebug: Family<WorldRow> = { id: "live-service-debug", rows: [row] };
