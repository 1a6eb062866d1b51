/** Options that every Fastify server of prl has. */
import type { FastifyServerOptions } from "fastify";

/**
 * Keeps Fastify from loading its compilers of JSON schemas, which costs a start 40 ms: bodies are checked with zod, and no route has a schema. A
 * route that declares one fails when the server starts.
 */
export const WITHOUT_SCHEMAS = {
  schemaController: {
    compilersFactory: {
      buildValidator: () => refuse,
      buildSerializer: () => refuse,
    },
  },
} satisfies FastifyServerOptions;

function refuse(): never {
  throw new Error("a route has a JSON schema: servers of prl check bodies with zod");
}
