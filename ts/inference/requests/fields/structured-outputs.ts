/** vLLM's `structured_outputs`: what the text of a completion has to match. Whether it can be compiled is found out where it is sampled. */
import type { StructuredOutput } from "../../../native/index.ts";
import { badRequest, unsupported } from "../../errors.ts";
import { flag, isAbsent, object, text } from "./checks.ts";

const FIELD = "sampling_params.structured_outputs";
const KINDS = ["json", "json_object", "regex", "choice", "grammar", "structural_tag"];
/** Those whose text is one JSON document. */
const JSON_KINDS = ["json", "json_object"];
/** Without effect: the choice of vLLM's compiler. */
const NO_EFFECT = new Set(["disable_fallback"]);
const OPTIONS = new Set(["disable_any_whitespace", "whitespace_pattern", "after", ...NO_EFFECT]);
/** Of vLLM, and not here. */
const MISSING = new Set(["disable_additional_properties"]);

/** Null where nothing has to be matched. Errors: PRL_INFERENCE_REQUEST, PRL_INFERENCE_UNSUPPORTED. */
export function structuredOutput(value: unknown): StructuredOutput | null {
  if (isAbsent(value)) return null;
  const given = Object.entries(object(value, FIELD)).filter(
    // A flag that is off says nothing; the JSON Schema false matches nothing.
    ([name, one]) => !isAbsent(one) && (one !== false || name === "json"),
  );
  if (given.length === 0) return null;
  for (const [name] of given) {
    if (MISSING.has(name)) throw unsupported(`${FIELD}.${name}: not available`);
    if (!KINDS.includes(name) && !OPTIONS.has(name))
      throw badRequest(`${FIELD}.${name}`, `unknown field; known are ${[...KINDS, ...OPTIONS].join(", ")}`);
  }
  const kinds = given.filter(([name]) => KINDS.includes(name));
  const [kind] = kinds;
  if (kind === undefined || kinds.length > 1) throw badRequest(FIELD, `must have exactly one of ${KINDS.join(", ")}`);
  const fields = Object.fromEntries(given);
  const after = text(fields["after"], `${FIELD}.after`);
  const compact = flag(fields["disable_any_whitespace"], `${FIELD}.disable_any_whitespace`);
  const whiteSpace = text(fields["whitespace_pattern"], `${FIELD}.whitespace_pattern`);
  if (whiteSpace !== null && !JSON_KINDS.includes(kind[0]))
    throw badRequest(`${FIELD}.whitespace_pattern`, `only together with ${JSON_KINDS.join(" or ")}`);
  if (whiteSpace !== null && compact)
    throw badRequest(`${FIELD}.whitespace_pattern`, "not together with disable_any_whitespace");
  return {
    ...formatOf(...kind),
    ...(compact && { compact }),
    ...(whiteSpace !== null && { whiteSpace }),
    ...(after !== null && { after }),
  };
}

function formatOf(kind: string, value: unknown): StructuredOutput {
  const field = `${FIELD}.${kind}`;
  if (kind === "json") return { jsonSchema: schemaOf(value, field) };
  if (kind === "json_object") {
    flag(value, field);
    return { jsonSchema: { type: "object" } };
  }
  if (kind === "structural_tag") return { structuralTag: object(parsed(value, field), field) };
  if (kind === "choice") return { choice: choicesOf(value, field) };
  const source = text(value, field) ?? "";
  return kind === "regex" ? { regex: source } : { grammar: source };
}

function schemaOf(value: unknown, field: string): object | boolean {
  const schema = parsed(value, field);
  return typeof schema === "boolean" ? schema : object(schema, field);
}

/** JSON may come as a text. */
function parsed(value: unknown, field: string): unknown {
  if (typeof value !== "string") return value;
  try {
    return JSON.parse(value) as unknown;
  } catch {
    throw badRequest(field, "is no JSON");
  }
}

function choicesOf(value: unknown, field: string): string[] {
  if (Array.isArray(value) && value.every((one) => typeof one === "string")) return value;
  throw badRequest(field, "must be a list of texts");
}
