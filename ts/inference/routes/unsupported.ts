/** Endpoints of the engine contract that are not implemented yet: each answers 501 with a code, whatever the body. */
import type { FastifyInstance } from "fastify";

import { toWire, unsupported } from "../errors.ts";

const LATER = ["/load_lora_adapter", "/v1/load_lora_adapter", "/v1/unload_lora_adapter"];

export function registerUnsupported(app: FastifyInstance): void {
  for (const url of LATER) {
    const { status, body } = toWire(unsupported(`POST ${url} is not implemented by the embedded engine`));
    const answer = (_request: unknown, reply: { code(status: number): { send(body: unknown): unknown } }) =>
      reply.code(status).send(body);
    // It answers before the body is read, so that the body's type and content do not matter.
    app.post(url, { onRequest: async (request, reply) => void answer(request, reply) }, answer);
  }
}
