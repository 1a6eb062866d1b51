/** `tojson` as transformers defines it: Python's `json.dumps` without escapes for HTML. */
import { TemplateFailure, TemplateUnsupported } from "../failures.ts";
import { floatText, intText } from "../python/numbers.ts";
import { compareTexts } from "../python/text.ts";
import { Dict, Markup, sequenceItems, typeName, type Value } from "../values.ts";

export interface JsonStyle {
  readonly ensureAscii: boolean;
  /** Indentation of one level; null writes one line. */
  readonly indent: string | null;
  readonly separators: readonly [string, string];
  readonly sortKeys: boolean;
}

export function toJson(value: Value, style: JsonStyle, level = 0): string {
  if (value === null) return "null";
  if (typeof value === "boolean") return String(value);
  if (typeof value === "bigint") return intText(value);
  if (typeof value === "number") return jsonFloat(value);
  if (typeof value === "string") return jsonText(value, style.ensureAscii);
  if (value instanceof Markup) return jsonText(value.text, style.ensureAscii);
  const items = sequenceItems(value);
  if (items !== null)
    return enclosed(
      "[]",
      items.map((item) => toJson(item, style, level + 1)),
      style,
      level,
    );
  if (value instanceof Dict) {
    const entries = members(value, style).map(
      ([key, item]) => jsonText(key, style.ensureAscii) + style.separators[1] + toJson(item, style, level + 1),
    );
    return enclosed("{}", entries, style, level);
  }
  throw new TemplateFailure(`a value of type ${typeName(value)} is not JSON serializable`);
}

function enclosed(brackets: string, parts: readonly string[], style: JsonStyle, level: number): string {
  const [open = "", close = ""] = brackets;
  if (parts.length === 0) return brackets;
  const [comma] = style.separators;
  if (style.indent === null) return open + parts.join(comma) + close;
  const inner = `\n${style.indent.repeat(level + 1)}`;
  return `${open}${inner}${parts.join(comma + inner)}\n${style.indent.repeat(level)}${close}`;
}

function members(dict: Dict, { sortKeys }: JsonStyle): [string, Value][] {
  const entries = [...dict.entries()];
  if (sortKeys) {
    entries.sort(([a], [b]) => compareTexts(sortedKey(a), sortedKey(b)));
  }
  return entries.map(([key, value]) => [keyText(key), value]);
}

function sortedKey(key: Value): string {
  if (typeof key === "string") return key;
  throw new TemplateUnsupported("sort_keys is implemented for texts as keys only");
}

function keyText(key: Value): string {
  if (typeof key === "string") return key;
  if (key === null || typeof key === "boolean") return String(key);
  if (typeof key === "bigint") return intText(key);
  if (typeof key === "number") return jsonFloat(key);
  throw new TemplateFailure(`a ${typeName(key)} is no key of a JSON object`);
}

function jsonFloat(value: number): string {
  if (Number.isNaN(value)) return "NaN";
  if (!Number.isFinite(value)) return value > 0 ? "Infinity" : "-Infinity";
  return floatText(value);
}

const ESCAPES: Readonly<Record<string, string>> = {
  '"': '\\"',
  "\\": "\\\\",
  "\n": "\\n",
  "\r": "\\r",
  "\t": "\\t",
  "\b": "\\b",
  "\f": "\\f",
};

const CONTROL = "\\u0000-\\u001f";
const ESCAPED = new RegExp(`["\\\\${CONTROL}]`, "g");
const ESCAPED_TO_ASCII = new RegExp(`["\\\\${CONTROL}\\u007f-\\uffff]`, "g");

function jsonText(text: string, ensureAscii: boolean): string {
  const inside = text.replace(ensureAscii ? ESCAPED_TO_ASCII : ESCAPED, (unit) => {
    return ESCAPES[unit] ?? `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
  });
  return `"${inside}"`;
}
