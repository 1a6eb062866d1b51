/**
 * The grammar of a forced tool call behind its beginning (`callBeginning`), in the dialect of Lark that the engine compiles: the arguments
 * match the function's schema, and the call is closed as the reader of replies expects it.
 */
import { schemaJson } from "../../native/index.ts";
import type { Family } from "../families.ts";

/** A function as a tool of OpenAI's chat API describes it. */
interface Called {
  readonly name: string;
  readonly parameters: Schema;
}

type Schema = Readonly<Record<string, unknown>>;

export interface CallFormat {
  readonly toolCalls: Family["toolCalls"];
  /** The token `</tool_call>`; null where the vocabulary has none, so that it is text. */
  readonly closing: number | null;
}

/** `name`: the function that the beginning names; null where it is still to be chosen of `tools`. Null in a family without calls. */
export function callGrammar(
  { toolCalls, closing }: CallFormat,
  name: string | null,
  tools: readonly unknown[],
): string | null {
  if (toolCalls === null) return null;
  const called = tools.map(functionOf).filter((one) => name === null || one.name === name);
  const close = closing === null ? literal("</tool_call>") : `<[${closing}]>`;
  const rules = called.flatMap(({ name: own, parameters }, at) => {
    const chosen = name === null ? own : null;
    if (toolCalls === "xml") return xmlRules(at, chosen, parameters, close);
    const key = toolCalls === "tagged" ? "arguments" : "parameters";
    const head = chosen === null ? [] : [literal(`${JSON.stringify(chosen).slice(1, -1)}", "${key}":`)];
    const end = toolCalls === "tagged" ? ['"}"', '"\\n"?', close] : ['"}"'];
    return [
      `call${at}: ${[...head, '" "?', `arguments${at}`, ...end].join(" ")}`,
      `arguments${at}: %json ${schemaJson({ type: "object", ...parameters })}`,
    ];
  });
  return [`start: ${called.map((_, at) => `call${at}`).join(" | ")}`, ...rules].join("\n");
}

/**
 * Arguments of Qwen3-Coder's calls come in the schema's order. They are texts without quotes: one of an enumeration is written as it is, another
 * text is free (its length and pattern do not bind), and what is no text matches its schema.
 */
function xmlRules(at: number, chosen: string | null, parameters: Schema, close: string): string[] {
  const required = Array.isArray(parameters["required"]) ? (parameters["required"] as unknown[]) : [];
  const properties = Object.entries(fieldsOf(parameters["properties"]));
  const head = chosen === null ? [] : [literal(`${chosen}>\n`)];
  const given = properties.map(([key], index) => `argument${at}_${index}${required.includes(key) ? "" : "?"}`);
  const call = [...head, ...given, literal("</function>\n"), close];
  return [
    `call${at}: ${call.join(" ")}`,
    ...properties.flatMap(([key, schema], index) => {
      const [rule, value] = [`argument${at}_${index}`, `value${at}_${index}`];
      const open = literal(`<parameter=${key}>\n`);
      const choices = textsOf(fieldsOf(schema));
      if (choices !== null) return [`${rule}: ${open} ${value} ${literal("\n</parameter>\n")}`, `${value}: ${choices}`];
      if (isText(fieldsOf(schema)))
        return [`${rule}: ${open} ${value}`, `${value}[suffix=${literal("\n</parameter>\n")}]: /(?s:.*)/`];
      return [`${rule}: ${open} ${value} ${literal("\n</parameter>\n")}`, `${value}: %json ${schemaJson(schema)}`];
    }),
  ];
}

function isText({ type, anyOf }: Schema): boolean {
  if (Array.isArray(anyOf)) return anyOf.some((one) => isText(fieldsOf(one)));
  return type === undefined || [type].flat().includes("string");
}

/** The alternatives of an enumeration of texts; null where the schema has none. */
function textsOf({ enum: all, const: one }: Schema): string | null {
  const texts: unknown[] = one === undefined ? (Array.isArray(all) ? all : []) : [one];
  const isEnumeration = texts.length > 0 && texts.every((text) => typeof text === "string");
  return isEnumeration ? texts.map((text) => literal(text)).join(" | ") : null;
}

function functionOf(tool: unknown): Called {
  const { name, parameters } = fieldsOf(fieldsOf(tool)["function"] ?? tool);
  return { name: String(name), parameters: fieldsOf(parameters) };
}

function literal(text: string): string {
  return JSON.stringify(text);
}

function fieldsOf(value: unknown): Schema {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Schema) : {};
}
