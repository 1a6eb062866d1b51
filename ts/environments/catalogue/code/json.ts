/** Values that travel to programs as arguments, and their literals in the languages of the prompts. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

export type ScriptLanguage = "python" | "javascript";

/** The value as source text. Keys keep their order. */
export function literal(value: Json, language: ScriptLanguage): string {
  if (value === null) return language === "python" ? "None" : "null";
  if (typeof value === "boolean") return language === "python" ? (value ? "True" : "False") : String(value);
  if (typeof value !== "object") return JSON.stringify(value);
  if (isList(value)) return `[${value.map((item) => literal(item, language)).join(", ")}]`;
  const entries = Object.entries(value).map(([key, item]) => `${JSON.stringify(key)}: ${literal(item, language)}`);
  return `{${entries.join(", ")}}`;
}

/** A text as a literal of Python, whose escapes are those of JSON. */
export function py(text: string): string {
  return JSON.stringify(text);
}

/** A name for lists that narrows read-only ones, too. */
export function isList(value: Json): value is readonly Json[] {
  return Array.isArray(value);
}
