/** JSON Schema of the config files, for editors. */
import { z } from "zod";
import { nodeOf } from "./keys/schema-walk.ts";
import { inputSchemas, type ConfigKind } from "./schema/index.ts";

/** The schema of a file of this kind; keys with a default are optional. */
export function configJsonSchema(kind: ConfigKind): Record<string, unknown> {
  return z.toJSONSchema(inputSchemas[kind], {
    io: "input",
    override: ({ zodSchema, jsonSchema }) => {
      // Editors show what stands at the key itself; zod leaves the description of a nullable key inside `anyOf`.
      const { description } = nodeOf(zodSchema);
      if (description !== "") jsonSchema.description ??= description;
      // Our own marks, which editors do not know.
      delete jsonSchema["relativeTo"];
      delete jsonSchema["shorthand"];
    },
  });
}
