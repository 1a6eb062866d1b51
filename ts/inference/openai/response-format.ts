/** The fields with which a client requires a format, as vLLM's `structured_outputs`: OpenAI's, vLLM's, and vLLM's earlier ones. */
import { z } from "zod";

import { badRequest, unsupported } from "../errors.ts";
import { readAs } from "../read-as.ts";

const nothing = z.unknown().optional();

export const FORMAT_FIELDS = {
  response_format: nothing,
  structured_outputs: nothing,
  guided_json: nothing,
  guided_regex: nothing,
  guided_choice: nothing,
  guided_grammar: nothing,
};

const GUIDED = ["json", "regex", "choice", "grammar"] as const;

const formatSchema = z.looseObject({ type: z.string() }).nullish();
const jsonSchema = z.looseObject({ json_schema: z.looseObject({ schema: z.unknown().optional() }) });

/** Undefined where none is required. Errors: PRL_INFERENCE_REQUEST, PRL_INFERENCE_UNSUPPORTED. */
export function structuredOutputsOf(body: Readonly<Partial<Record<keyof typeof FORMAT_FIELDS, unknown>>>): unknown {
  const formats: [string, unknown][] = [
    ["response_format", responseFormat(body.response_format)],
    ["structured_outputs", body.structured_outputs],
    ...GUIDED.map((kind): [string, unknown] => {
      const value = body[`guided_${kind}`] ?? null;
      return [`guided_${kind}`, value === null ? undefined : { [kind]: value }];
    }),
  ];
  const given = formats.filter(([, value]) => value !== undefined && value !== null && !isEmpty(value));
  if (given.length > 1) throw badRequest(given[1]?.[0] ?? "", `not together with ${given[0]?.[0]}`);
  return given[0]?.[1];
}

/** As in vLLM a schema is enforced whatever `strict` says. */
function responseFormat(value: unknown): unknown {
  const type = readAs("response_format", formatSchema, value)?.type ?? "text";
  if (type === "text") return undefined;
  if (type === "json_object") return { json_object: true };
  if (type === "structural_tag") return { structural_tag: value };
  if (type !== "json_schema")
    throw unsupported(`response_format.type: only text, json_object, json_schema and structural_tag`);
  const { schema } = readAs("response_format", jsonSchema, value).json_schema;
  if (schema === undefined) throw badRequest("response_format.json_schema.schema", "is missing");
  return { json: schema };
}

function isEmpty(value: unknown): boolean {
  return typeof value === "object" && value !== null && Object.keys(value).length === 0;
}
