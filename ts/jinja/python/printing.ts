/** `str` and `repr`: how Python prints values. */
import { TemplateUnsupported } from "../failures.ts";
import { floatText, intText } from "./numbers.ts";
import {
  Callable,
  Dict,
  DictView,
  Instance,
  isList,
  Markup,
  Namespace,
  Range,
  Tuple,
  typeName,
  Undefined,
  type Value,
} from "../values.ts";

/** The text of a value in a template's output. */
export function str(value: Value): string {
  if (typeof value === "string") return value;
  if (value instanceof Markup) return value.text;
  return value instanceof Undefined ? "" : repr(value);
}

export function repr(value: Value): string {
  if (value === null) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (typeof value === "bigint") return intText(value);
  if (typeof value === "number") return floatText(value);
  if (typeof value === "string") return quoted(value);
  if (isList(value)) return `[${value.map(repr).join(", ")}]`;
  if (value instanceof Tuple) return tupleText(value.items);
  if (value instanceof Dict) return dictText([...value.entries()]);
  return otherText(value);
}

function otherText(value: Value): string {
  if (value instanceof Undefined) return "Undefined";
  if (value instanceof DictView) return `dict_${value.kind}([${value.items().map(repr).join(", ")}])`;
  if (value instanceof Range) {
    const ends = `${value.start}, ${value.stop}`;
    return value.step === 1n ? `range(${ends})` : `range(${ends}, ${value.step})`;
  }
  if (value instanceof Namespace) return `<Namespace ${dictText([...value.attributes])}>`;
  if (value instanceof Markup) return `Markup(${quoted(value.text)})`;
  const printed = value instanceof Callable ? value.printed : value instanceof Instance ? value.printed() : null;
  if (printed !== null) return printed;
  throw new TemplateUnsupported(
    `a ${typeName(value)} is printed, where Python prints an address: make it a list first`,
  );
}

function tupleText(items: readonly Value[]): string {
  return items.length === 1 ? `(${items.map(repr).join("")},)` : `(${items.map(repr).join(", ")})`;
}

function dictText(entries: readonly (readonly [Value, Value])[]): string {
  return `{${entries.map(([key, value]) => `${repr(key)}: ${repr(value)}`).join(", ")}}`;
}

const UNPRINTABLE = /[\\'\p{C}\p{Zl}\p{Zp}]|(?! )\p{Zs}/gu;
const ESCAPES: Readonly<Record<string, string>> = { "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t" };

/** A text as Python's `repr` quotes it: in single quotes, unless only those would need an escape. */
function quoted(text: string): string {
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'";
  const inside = text.replace(UNPRINTABLE, (sign) => {
    if (sign === "'") return quote === "'" ? "\\'" : sign;
    return ESCAPES[sign] ?? escapedCodePoint(sign.codePointAt(0) ?? 0);
  });
  return quote + inside + quote;
}

function escapedCodePoint(point: number): string {
  const hex = point.toString(16);
  if (point < 0x100) return `\\x${hex.padStart(2, "0")}`;
  return point < 0x10000 ? `\\u${hex.padStart(4, "0")}` : `\\U${hex.padStart(8, "0")}`;
}
