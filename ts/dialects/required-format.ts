/**
 * The format that a chat request requires of its reply: OpenAI's `response_format`, vLLM's `structured_outputs` and its earlier `guided_*`.
 *
 * It knows which fields there are, not whether a schema, an expression or a grammar is right.
 */
import { z } from "zod";

import type { TextFormat } from "../message.ts";
import { malformed, refuseUnless, type ReplyFormat, unsupported } from "./dialect.ts";

const STRUCTURED = "structured_outputs";
/** Kinds that `structured_outputs` and, but for the last two, `guided_*` can have. */
const KINDS = ["json", "regex", "choice", "grammar", "json_object", "structural_tag"] as const;
const GUIDED = KINDS.slice(0, 4);

const values = {
  regex: z.string(),
  grammar: z.string(),
  choice: z.array(z.string()),
  structural_tag: z.looseObject({}),
};

/** Null: any text. Errors: PRL_AGENT_REQUEST, PRL_AGENT_UNSUPPORTED. */
export function requiredFormat(request: Readonly<Record<string, unknown>>, schema: unknown): ReplyFormat | null {
  const response = request["response_format"] as { readonly type: string } | null | undefined;
  const formats = [
    response?.type === "structural_tag"
      ? formatOfKind("response_format", "structural_tag", response)
      : formatOf("response_format", response, schema),
    structuredOutputs(request[STRUCTURED]),
    ...GUIDED.map((kind) => {
      const value = request[`guided_${kind}`] ?? null;
      return value === null ? null : formatOfKind(`guided_${kind}`, kind, value);
    }),
  ].filter((format) => format !== null);
  const [format, other] = formats;
  if (other !== undefined) throw malformed(other.field, `not together with ${format?.field}`);
  return format ?? null;
}

/** The format of the reply, in all dialects. */
export function formatOf(
  field: string,
  format: { readonly type: string } | null | undefined,
  schema: unknown,
): ReplyFormat | null {
  const type = format?.type ?? "text";
  if (type === "text") return null;
  if (type === "json_object") return { field, schema: { type: "object" } };
  if (type === "json_schema" && schema !== undefined) return { field, schema };
  throw unsupported(`${field}.type`, `${JSON.stringify(type)}: text, json_object, and json_schema with a schema`);
}

function structuredOutputs(value: unknown): ReplyFormat | null {
  if (value === undefined || value === null) return null;
  if (typeof value !== "object" || Array.isArray(value)) throw malformed(STRUCTURED, "must be an object");
  const fields = Object.entries(value).filter(([, one]) => one !== null && one !== undefined);
  const given: [(typeof KINDS)[number], unknown][] = [];
  for (const [name, one] of fields) {
    const kind = KINDS.find((known) => known === name);
    if (kind === undefined) refuseUnless(`${STRUCTURED}.${name}`, one, [false], "not for agents");
    else if (one !== false || kind === "json") given.push([kind, one]);
  }
  const [first, second] = given;
  if (second !== undefined) throw malformed(STRUCTURED, `must have exactly one of ${KINDS.join(", ")}`);
  return first === undefined ? null : formatOfKind(`${STRUCTURED}.${first[0]}`, ...first);
}

function formatOfKind(field: string, kind: (typeof KINDS)[number], value: unknown): ReplyFormat {
  if (kind === "json_object") return { field, schema: { type: "object" } };
  if (kind === "json") return { field, schema: jsonOf(field, value) };
  return { field, text: textFormat(field, kind, kind === "structural_tag" ? jsonOf(field, value) : value) };
}

function textFormat(field: string, kind: keyof typeof values, value: unknown): TextFormat {
  const parsed = values[kind].safeParse(value);
  if (!parsed.success) throw malformed(field, z.prettifyError(parsed.error).replace(/\s+/gu, " "));
  return { [kind === "structural_tag" ? "structuralTag" : kind]: parsed.data } as TextFormat;
}

/** JSON may come as a text. */
function jsonOf(field: string, value: unknown): unknown {
  if (typeof value !== "string") return value;
  try {
    return JSON.parse(value) as unknown;
  } catch {
    throw malformed(field, "is no JSON");
  }
}
