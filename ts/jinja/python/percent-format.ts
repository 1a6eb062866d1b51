/** `'...' % values` and the filter `format`. */
import { TemplateFailure, TemplateUnsupported } from "../failures.ts";
import { formatFloat, signOf } from "./number-format.ts";
import { intText } from "./numbers.ts";
import { repr, str } from "./printing.ts";
import { codePoints, pad, textSlice } from "./text.ts";
import { Dict, isList, Tuple, typeName, Undefined, type Value } from "../values.ts";

const FIELD =
  /%(?:\((?<key>[^()]*)\))?(?<flags>[-+ #0]*)(?<width>\*|\d+)?(?:\.(?<digits>\*|\d+)?)?[hlL]?(?<kind>[\s\S]?)/gu;
type Found = { readonly flags: string; readonly kind: string } & Partial<Record<"key" | "width" | "digits", string>>;

interface Field {
  readonly flags: string;
  readonly width: number;
  /** Null: not given. */
  readonly precision: number | null;
  readonly kind: string;
}

export function formatPercent(template: string, given: Value): string {
  const values = given instanceof Tuple ? given.items : [given];
  let [taken, isNamed] = [0, false];
  const next = (): Value => {
    const value = values[taken];
    if (value === undefined) throw new TemplateFailure("not enough arguments for format string");
    taken += 1;
    return value;
  };
  const count = (text: string | undefined): number => {
    if (text !== "*") return Number(text ?? "0");
    const value = next();
    if (typeof value !== "bigint") throw new TemplateFailure("* wants an int");
    return Number(value);
  };
  const text = template.replace(FIELD, (whole, ...found) => {
    const { key, flags, width, digits, kind } = found.at(-1) as Found;
    if (kind === "") throw new TemplateFailure("incomplete format");
    if (kind === "%" && whole === "%%") return "%";
    const wide = count(width);
    const hasPrecision = whole.slice(1 + (key === undefined ? 0 : key.length + 2)).includes(".");
    const precision = hasPrecision ? Math.max(count(digits), 0) : null;
    const field: Field = { flags: wide < 0 ? `${flags}-` : flags, width: Math.abs(wide), precision, kind };
    if (kind === "%") throw new TemplateUnsupported("a % with flags or a width is not implemented");
    if (key === undefined) return formatField(next(), field);
    isNamed = true;
    return formatField(named(given, key), field);
  });
  // Python accepts an unused argument when it could be a mapping.
  if (taken < values.length && !isNamed && !(given instanceof Dict || isList(given) || given instanceof Undefined)) {
    throw new TemplateFailure("not all arguments converted during string formatting");
  }
  return text;
}

function named(given: Value, key: string): Value {
  if (!(given instanceof Dict)) throw new TemplateFailure("format requires a mapping");
  const value = given.get(key);
  if (value === undefined) throw new TemplateFailure(`the format names ${repr(key)}, which is not there`);
  return value;
}

function formatField(value: Value, field: Field): string {
  const { kind, precision } = field;
  if (kind === "s" || kind === "r") {
    const text = kind === "s" ? str(value) : repr(value);
    return padded("", precision === null ? text : textSlice(text, 0, precision), {
      ...field,
      flags: field.flags.replaceAll("0", ""),
    });
  }
  if (kind === "c") return padded("", character(value), { ...field, flags: field.flags.replaceAll("0", "") });
  if (value instanceof Undefined) return value.fail();
  if ("diuxXo".includes(kind)) return formatInt(asInt(value, kind), field);
  if ("eEfFgG".includes(kind)) return formatReal(asFloat(value), field);
  if (kind === "a") throw new TemplateUnsupported("%a is not implemented");
  throw new TemplateFailure(`unsupported format character ${repr(kind)}`);
}

function character(value: Value): string {
  if (typeof value === "string" && codePoints(value).length === 1) return value;
  if (typeof value === "bigint" && value >= 0n && value < 0x110000n) return String.fromCodePoint(Number(value));
  throw new TemplateFailure("%c requires an int or a single character");
}

function asInt(value: Value, kind: string): bigint {
  if (typeof value === "bigint") return value;
  if (typeof value === "boolean") return BigInt(value);
  if (typeof value === "number" && "diu".includes(kind) && Number.isFinite(value)) return BigInt(Math.trunc(value));
  throw new TemplateFailure(`%${kind} wants a number, not a ${typeName(value)}`);
}

function asFloat(value: Value): number {
  if (typeof value === "bigint" || typeof value === "number" || typeof value === "boolean") return Number(value);
  throw new TemplateFailure(`a number is wanted, not a ${typeName(value)}`);
}

function plus(flags: string): string {
  if (flags.includes("+")) return "+";
  return flags.includes(" ") ? " " : "";
}

function formatInt(value: bigint, field: Field): string {
  const { kind, flags } = field;
  const size = value < 0n ? -value : value;
  const bases: Record<string, [number, string]> = { x: [16, "0x"], X: [16, "0X"], o: [8, "0o"] };
  const [base, prefix] = bases[kind] ?? [10, ""];
  const digits = base === 10 ? intText(size) : size.toString(base);
  const text = (kind === "X" ? digits.toUpperCase() : digits).padStart(field.precision ?? 0, "0");
  return padded(signOf(value, plus(flags)) + (flags.includes("#") ? prefix : ""), text, field);
}

function formatReal(value: number, field: Field): string {
  const style = { kind: field.kind, precision: field.precision ?? 6, alternate: field.flags.includes("#") };
  return padded(signOf(value, plus(field.flags)), formatFloat(value, style), field);
}

/** `0` fills between the sign and the digits, `-` behind them. */
function padded(sign: string, text: string, { flags, width }: Field): string {
  if (flags.includes("-")) return pad(sign + text, width, " ", () => 0);
  if (flags.includes("0")) return sign + pad(text, width - sign.length, "0", (missing) => missing);
  return pad(sign + text, width, " ", (missing) => missing);
}
