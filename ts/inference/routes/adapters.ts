/** Loading and unloading adapters that requests name as their model; the paths and fields are vLLM's. */
import type { FastifyInstance, FastifyRequest } from "fastify";
import { z } from "zod";

import type { ServerContext } from "../context.ts";
import { controlGuard } from "../control-guard.ts";
import { readAs } from "../read-as.ts";
import { within } from "./control-call.ts";

const name = z.string().min(1, "must not be empty");
const loadSchema = z.strictObject({
  lora_name: name,
  lora_path: z.string(),
  load_inplace: z.boolean().default(false),
});
/** vLLM numbers its adapters; the names are enough here. */
const unloadSchema = z.strictObject({ lora_name: name, lora_int_id: z.int().nullish() });

export function registerAdapters(app: FastifyInstance, context: ServerContext): void {
  const { adapters, deadlines, weightRoots } = context;
  const guarded = { onRequest: controlGuard(context) };
  // Calls run one after the other, so that one name is not loaded twice at a time.
  let calls: Promise<unknown> = Promise.resolve();
  const inTurn = (url: string, work: () => Promise<void>, done: string) => {
    const result = calls.then(work, work);
    calls = result.catch(() => undefined);
    return within(
      deadlines.updateMs,
      url,
      result.then(() => ({ status: "ok", message: done })),
    );
  };
  const load = (request: FastifyRequest) => {
    const { lora_name: named, lora_path: path, load_inplace: replace } = readAs("body", loadSchema, request.body);
    const work = async () => adapters.load(named, await weightRoots.resolve("lora_path", path), replace);
    return inTurn(request.url, work, `the adapter "${named}" is loaded`);
  };
  const unload = (request: FastifyRequest) => {
    const { lora_name: named } = readAs("body", unloadSchema, request.body);
    return inTurn(request.url, () => adapters.unload(named), `the adapter "${named}" is unloaded`);
  };
  for (const prefix of ["", "/v1"]) {
    app.post(`${prefix}/load_lora_adapter`, { ...guarded, handler: load });
    app.post(`${prefix}/unload_lora_adapter`, { ...guarded, handler: unload });
  }
}
