/** vLLM's sleep: the engine gives the memory of its KV cache back until it is woken. Weights stay where they are, in the machine's memory. */
import type { FastifyInstance } from "fastify";
import { z } from "zod";

import type { ServerContext } from "../context.ts";
import { controlGuard } from "../control-guard.ts";
import { unsupported } from "../errors.ts";
import { readQuery, within } from "./control-call.ts";

const LEVEL_OF_CACHE = 1;
/** As in vLLM the default level is 1, and running requests are aborted unless they are to be kept or waited for. */
const sleepQuery = z.strictObject({
  level: z.coerce.number().int().default(LEVEL_OF_CACHE),
  mode: z.enum(["abort", "wait", "keep"]).default("abort"),
});
const tag = z.enum(["weights", "kv_cache"]);
const wakeQuery = z.strictObject({ tags: z.union([tag.transform((one) => [one]), z.array(tag)]).optional() });

export function registerSleep(app: FastifyInstance, context: ServerContext): void {
  const guarded = { onRequest: controlGuard(context) };

  app.post("/sleep", guarded, (request) => sleep(context, readQuery(sleepQuery, request)));
  app.post("/wake_up", guarded, (request) => wakeUp(context, readQuery(wakeQuery, request)));
  app.get("/is_sleeping", () => ({ is_sleeping: context.sleeping }));
}

async function sleep(
  context: ServerContext,
  { level, mode }: z.output<typeof sleepQuery>,
): Promise<{ status: "sleeping" }> {
  const { model, deadlines } = context;
  if (level !== LEVEL_OF_CACHE) throw unsupported(`level ${level}: the engine keeps its weights; use level 1`);
  // After the deadline it goes on to its end: an engine that was only paused for the sleep must not stay so.
  const fallAsleep = async () => {
    await model.pause(mode);
    await model.sleep();
    context.sleeping = true;
    // An engine without a cache computes nothing; a pause from before goes on after the sleep.
    if (!context.paused) await model.resume();
    return { status: "sleeping" } as const;
  };
  return within(deadlines.controlMs, `/sleep?mode=${mode}`, fallAsleep());
}

async function wakeUp(
  context: ServerContext,
  { tags }: z.output<typeof wakeQuery>,
): Promise<{ status: "sleeping" | "awake" }> {
  const { model, deadlines } = context;
  // The weights are always awake.
  if (tags === undefined || tags.includes("kv_cache")) {
    await within(deadlines.controlMs, "/wake_up", model.wakeUp());
    context.sleeping = false;
  }
  return { status: context.sleeping ? "sleeping" : "awake" };
}
