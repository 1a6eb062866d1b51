/**
 * Tool calls as Qwen3-Coder writes them: `<function=name>`, and each argument in a `<parameter=name>` as text.
 *
 * The text does not show an argument's type: the function's schema does.
 */
import { holdsInfinity } from "../../exact-json.ts";
import type { ParsedToolCall } from "./parse-completion.ts";

const FUNCTION = /^<function=([^>\n]*)>([\s\S]*?)<\/function>$/u;
const PARAMETER = /<parameter=([^>\n]+)>\n?([\s\S]*?)\n?<\/parameter>/gu;
const BEGINNING = "<function=";

/** The call in a block; every argument is a text. */
export function readXmlCall(body: string): ParsedToolCall {
  const raw = body.trim();
  const [, name = "", inside] = FUNCTION.exec(raw) ?? [];
  if (inside === undefined) return { status: "invalid_json", name: null, arguments: null, raw };
  if (name.trim() === "") return { status: "missing_name", name: null, arguments: null, raw };
  const given = [...inside.matchAll(PARAMETER)].map(([, key = "", value = ""]): [string, string] => [
    key.trim(),
    value,
  ]);
  const isWhole = inside.replaceAll(PARAMETER, "").trim() === "";
  return {
    status: isWhole ? "ok" : "invalid_json",
    name: name.trim(),
    arguments: isWhole ? Object.fromEntries(given) : null,
    raw,
  };
}

type Schema = Readonly<Record<string, unknown>>;

/** The call with its arguments in the types of its function's schema; a call that was not written so is unchanged. */
export function withTypes(
  call: ParsedToolCall,
  tools: readonly unknown[],
  parse: (json: string) => unknown = JSON.parse,
): ParsedToolCall {
  const { name, arguments: given, raw } = call;
  if (given === null || !raw.startsWith(BEGINNING)) return call;
  const functions = tools.map((tool) => fieldsOf(fieldsOf(tool)["function"] ?? tool));
  const { parameters } = functions.find((one) => one["name"] === name) ?? {};
  const properties = fieldsOf(fieldsOf(parameters)["properties"]);
  const typed = Object.entries(given).map(([key, value]) => [
    key,
    typedValue(String(value), fieldsOf(properties[key]), parse),
  ]);
  return { ...call, arguments: Object.fromEntries(typed) as Record<string, unknown> };
}

/** The value of the first type that the text can be; the text itself where it can be none. */
function typedValue(text: string, schema: Schema, parse: (json: string) => unknown): unknown {
  for (const type of typesOf(schema)) {
    if (type === "string") return text;
    const value = valueAs(type, text.trim(), parse);
    if (value !== undefined) return value;
  }
  return text;
}

/** `null` comes first: a text can be a string too. */
function typesOf({ type, anyOf }: Schema): unknown[] {
  const types = Array.isArray(anyOf) ? anyOf.flatMap((one) => typesOf(fieldsOf(one))) : [type].flat();
  return types.toSorted((a, b) => Number(b === "null") - Number(a === "null"));
}

/** Undefined when the text is no value of the type. Python's words are known, because templates write them. */
function valueAs(type: unknown, text: string, parse: (json: string) => unknown): unknown {
  const json = /^(?:none|true|false)$/iu.test(text) ? text.toLowerCase().replace("none", "null") : text;
  let value: unknown;
  try {
    value = parse(json);
  } catch {
    return undefined;
  }
  if (holdsInfinity(value)) return undefined;
  if (typeof value === "bigint") return type === "integer" || type === "number" ? value : undefined;
  const own = value === null ? "null" : Array.isArray(value) ? "array" : typeof value;
  const isSame = own === type || (type === "integer" && Number.isInteger(value));
  return isSame ? value : undefined;
}

function fieldsOf(value: unknown): Schema {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Schema) : {};
}
