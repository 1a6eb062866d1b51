/** BFCL's functions as tools of the chat API, in the way of its handler for that API. */
import { calledName } from "./checker.ts";

/** Types of BFCL and of JSON Schema; any other one is a text. */
const SCHEMA_TYPES: Readonly<Record<string, string>> = {
  integer: "integer",
  number: "number",
  float: "number",
  string: "string",
  boolean: "boolean",
  bool: "boolean",
  array: "array",
  list: "array",
  dict: "object",
  object: "object",
  tuple: "array",
  any: "string",
};

type Schema = Readonly<Record<string, unknown>>;

export interface FunctionDoc {
  readonly name: string;
  readonly description: string;
  readonly parameters: Schema & { readonly properties: Readonly<Record<string, Schema>> };
}

export function toolOf({ name, description, parameters, ...rest }: FunctionDoc): Schema {
  return {
    type: "function",
    function: {
      ...rest,
      name: calledName(name),
      description: `${description} Note that the provided function is in Python 3 syntax.`,
      parameters: { ...parameters, type: "object", properties: properties(parameters.properties) },
    },
  };
}

function properties(all: Readonly<Record<string, Schema>>): Record<string, Schema> {
  return Object.fromEntries(Object.entries(all).map(([name, schema]) => [name, property(schema)]));
}

function property(schema: Schema): Schema {
  const declared = schema["type"];
  const type = schemaType(declared);
  const described = typeof schema["description"] === "string" ? schema["description"] : "";
  const float =
    declared === "float" ? { format: "float", description: `${described} This is a float type value.` } : {};
  const made: Record<string, unknown> = { ...schema, ...float, type };
  if (type !== "array" && type !== "object") return made;
  if (isObject(schema["properties"])) made["properties"] = properties(schema["properties"] as Record<string, Schema>);
  else if (isObject(schema["items"])) made["items"] = item(schema["items"]);
  return made;
}

/** Items are converted two levels deep. */
function item(schema: Schema): Schema {
  const type = schemaType(schema["type"]);
  const made: Record<string, unknown> = { ...schema, type };
  const inner = schema["items"];
  if (type === "array" && isObject(inner)) made["items"] = { ...inner, type: schemaType(inner["type"]) };
  else if (type === "object" && isObject(schema["properties"]))
    made["properties"] = properties(schema["properties"] as Record<string, Schema>);
  return made;
}

function schemaType(declared: unknown): string {
  return (typeof declared === "string" ? SCHEMA_TYPES[declared] : undefined) ?? "string";
}

function isObject(value: unknown): value is Schema {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
