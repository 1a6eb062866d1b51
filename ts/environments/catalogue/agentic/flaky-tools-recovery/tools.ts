/** What the policy can do: ask services, look at them, undo, wait, and enter how a job ended. */
import { z } from "zod";

import { recordName } from "../records.ts";
import { type WorldTool, worldTool } from "../../row.ts";
import type { World } from "./world.ts";

const nothing = z.object({});
const serviceName = z.string().max(40);

export const TOOLS: Readonly<Record<string, WorldTool<World>>> = {
  list_jobs: worldTool<World, typeof nothing>({
    description: "The jobs with their steps. It takes no time",
    parameters: nothing,
    run: ({ instance }) =>
      instance.jobs.map(({ id, steps }) => ({ id, steps: steps.map(({ service, amount }) => ({ service, amount })) })),
  }),
  read_log: worldTool<World, typeof nothing>({
    description: "Requests of the worker before you, with what it heard; its minutes are below 0. It takes no time",
    parameters: nothing,
    run: ({ instance, heard, minute }) => ({
      minute,
      requests: instance.earlier.map((request, index) => ({ ...request, ...heard[index] })),
    }),
  }),
  act: worldTool({
    description: "Asks a service for a step of a job, or for a part of its amount. It takes a minute",
    parameters: z.object({
      service: serviceName,
      job: recordName,
      amount: z.int().min(1).max(1_000),
      key: z.string().min(1).max(60).optional().describe("idempotency key, where the service takes one"),
    }),
    run: (world: World, { key = null, ...request }) => ({
      ...world.act({ ...request, key }),
      minute: world.minute,
    }),
  }),
  look: worldTool({
    description: "The effects that a service shows. It takes a minute",
    parameters: z.object({ service: serviceName }),
    run: (world: World, { service }) => ({ effects: world.look(service), minute: world.minute }),
  }),
  undo: worldTool({
    description: "Undoes one effect; of an effect that is undone, it changes nothing. It takes a minute",
    parameters: z.object({ service: serviceName, effect: recordName }),
    run: (world: World, { service, effect }) => ({ ...world.undo(service, effect), minute: world.minute }),
  }),
  wait: worldTool({
    description: "Lets minutes pass",
    parameters: z.object({ minutes: z.int().min(1).max(500) }),
    run: (world: World, { minutes }) => {
      world.wait(minutes);
      return { minute: world.minute };
    },
  }),
  enter: worldTool({
    description: "Enters in the audit log how a job ended; an entry is final. It takes no time",
    parameters: z.object({ job: recordName, outcome: z.enum(["done", "undone"]) }),
    run: (world: World, { job, outcome }) => {
      world.enter(job, outcome);
      return { entered: world.entries.size };
    },
  }),
};
