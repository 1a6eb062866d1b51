/** `'...'.format(...)` and `format_map`. */
import { TemplateFailure, TemplateUnsupported } from "../failures.ts";
import { formatFloat, signOf } from "./number-format.ts";
import { floatText } from "./numbers.ts";
import { repr, str } from "./printing.ts";
import { codePoints, pad, textSlice } from "./text.ts";
import { type Arguments, typeName, Undefined, type Value } from "../values.ts";

/** Reads attributes and elements for the fields of a format, as the template does. */
export interface FieldAccess {
  attribute(value: Value, name: string): Value;
  element(value: Value, key: Value): Value;
}

interface Numbering {
  next: number;
  manual: boolean;
}

const MAX_NESTING = 2;

export function formatMethod(template: string, args: Arguments, access: FieldAccess): string {
  return expand({ template, args, access, numbering: { next: 0, manual: false }, depth: MAX_NESTING });
}

interface Expansion {
  readonly template: string;
  readonly args: Arguments;
  readonly access: FieldAccess;
  readonly numbering: Numbering;
  readonly depth: number;
}

function expand(expansion: Expansion): string {
  const { template, depth } = expansion;
  if (depth < 0) throw new TemplateFailure("Max string recursion exceeded");
  let text = "";
  for (let at = 0; at < template.length; at++) {
    const sign = template[at] ?? "";
    if (sign !== "{" && sign !== "}") {
      text += sign;
    } else if (template[at + 1] === sign) {
      text += sign;
      at += 1;
    } else if (sign === "}") {
      throw new TemplateFailure("Single '}' encountered in format string");
    } else {
      const end = fieldEnd(template, at);
      text += field(template.slice(at + 1, end), expansion);
      at = end;
    }
  }
  return text;
}

function fieldEnd(template: string, start: number): number {
  let open = 0;
  for (let at = start; at < template.length; at++) {
    if (template[at] === "{") open += 1;
    if (template[at] === "}") open -= 1;
    if (open === 0) return at;
  }
  throw new TemplateFailure("expected '}' before end of string");
}

const FIELD = /^([^!:{}[\]]*(?:\[[^\]]*\][^!:{}[\]]*)*)(?:!([^:]*))?(?::([\s\S]*))?$/;

function field(source: string, expansion: Expansion): string {
  const match = FIELD.exec(source);
  if (match === null) throw new TemplateUnsupported(`the format field {${source}} is not implemented`);
  const [, name = "", conversion, spec = ""] = match;
  const value = converted(fieldValue(name, expansion), conversion);
  const inner = { ...expansion, template: spec, depth: expansion.depth - 1 };
  return formatValue(value, spec.includes("{") || spec.includes("}") ? expand(inner) : spec);
}

function converted(value: Value, conversion: string | undefined): Value {
  if (conversion === undefined) return value;
  if (conversion === "s") return str(value);
  if (conversion === "r") return repr(value);
  if (conversion === "a") throw new TemplateUnsupported("the conversion !a is not implemented");
  throw new TemplateFailure(`Unknown conversion specifier ${conversion}`);
}

function fieldValue(name: string, { args, access, numbering }: Expansion): Value {
  const [, first = "", rest = ""] = /^([^.[]*)(.*)$/s.exec(name) ?? [];
  let value = argument(first, args, numbering);
  for (const [, attribute, key = ""] of rest.matchAll(/\.([^.[]*)|\[([^\]]*)\]/g)) {
    if (attribute !== undefined) value = access.attribute(value, attribute);
    else value = access.element(value, /^\d+$/.test(key) ? BigInt(key) : key);
  }
  return value;
}

function argument(name: string, args: Arguments, numbering: Numbering): Value {
  let value: Value | undefined;
  if (name === "") {
    if (numbering.manual) throw new TemplateFailure("cannot switch from manual field numbering to automatic");
    value = args.positional[numbering.next];
    numbering.next += 1;
  } else if (/^\d+$/.test(name)) {
    if (numbering.next > 0) throw new TemplateFailure("cannot switch from automatic field numbering to manual");
    numbering.manual = true;
    value = args.positional[Number(name)];
  } else {
    value = args.named.get(name);
  }
  if (value === undefined) throw new TemplateFailure(`the format names {${name}}, which is not given`);
  return value;
}

const SPEC = /^(?:([\s\S])?([<>=^]))?([-+ ])?(#)?(0)?(\d+)?([,_])?(?:\.(\d+))?([a-zA-Z%])?$/u;

interface Spec {
  readonly fill: string;
  readonly align: string;
  readonly plus: string;
  readonly alternate: boolean;
  readonly width: number;
  readonly grouping: string;
  readonly precision: number | null;
  readonly kind: string;
}

function formatValue(value: Value, source: string): string {
  if (source === "") return str(value);
  const match = SPEC.exec(source);
  if (match === null) throw new TemplateFailure(`Invalid format specifier ${repr(source)}`);
  const [, fill, align = "", sign = "", alternate, zero, width = "0", grouping = "", precision, kind = ""] = match;
  const spec: Spec = {
    fill: fill ?? (zero === undefined ? " " : "0"),
    align: align === "" && zero !== undefined ? "=" : align,
    plus: sign === "-" ? "" : sign,
    alternate: alternate !== undefined,
    width: Number(width),
    grouping,
    precision: precision === undefined ? null : Number(precision),
    kind,
  };
  if (typeof value === "string") return formatText(value, spec, zero !== undefined && align === "");
  if (typeof value === "bigint") return formatInt(value, spec);
  if (typeof value === "number") return formatReal(value, spec);
  if (typeof value === "boolean") return formatInt(BigInt(value), spec);
  if (value instanceof Undefined) return value.fail();
  throw new TemplateFailure(`a ${typeName(value)} takes no format specifier`);
}

function formatText(value: string, spec: Spec, isZeroFilled: boolean): string {
  const { align, plus, alternate, grouping, precision, kind } = spec;
  if (
    (kind !== "" && kind !== "s") ||
    plus !== "" ||
    alternate ||
    grouping !== "" ||
    (align === "=" && !isZeroFilled)
  ) {
    throw new TemplateFailure("this format specifier is not for texts");
  }
  const text = precision === null ? value : textSlice(value, 0, precision);
  return aligned("", text, { ...spec, align: isZeroFilled ? "<" : align || "<" });
}

function formatInt(value: bigint, spec: Spec): string {
  const { kind } = spec;
  if (kind !== "" && "eEfFgG%".includes(kind)) return formatReal(Number(value), spec);
  if (spec.precision !== null) throw new TemplateFailure("Precision not allowed in integer format specifier");
  const size = value < 0n ? -value : value;
  if (kind === "c") throw new TemplateUnsupported("the format type c is not implemented");
  const bases: Record<string, [number, string]> = {
    "": [10, ""],
    d: [10, ""],
    b: [2, "0b"],
    o: [8, "0o"],
    x: [16, "0x"],
    X: [16, "0X"],
  };
  const known = bases[kind];
  if (known === undefined) throw new TemplateFailure(`Unknown format code '${kind}' for an int`);
  const [base, prefix] = known;
  const digits = size.toString(base);
  const sign = signOf(value, spec.plus) + (spec.alternate ? prefix : "");
  return number(sign, kind === "X" ? digits.toUpperCase() : digits, "", { ...spec, base });
}

function formatReal(value: number, spec: Spec): string {
  const { kind, precision, alternate, plus } = spec;
  if (kind !== "" && !"eEfFgG%".includes(kind)) throw new TemplateFailure(`Unknown format code '${kind}' for a float`);
  let text: string;
  if (kind === "%") text = `${formatFloat(value * 100, { kind: "f", precision: precision ?? 6, alternate })}%`;
  else if (kind !== "") text = formatFloat(value, { kind, precision: precision ?? 6, alternate });
  else if (precision === null) text = floatText(Math.abs(value));
  else throw new TemplateUnsupported("a precision without a format type is not implemented for floats");
  const [, whole = "", rest = ""] = /^(\d*)(.*)$/s.exec(text) ?? [];
  return number(signOf(value, plus), whole, rest, { ...spec, base: 10 });
}

function number(sign: string, whole: string, rest: string, spec: Spec & { base: number }): string {
  const every = spec.base === 10 ? 3 : 4;
  if (spec.grouping === "," && every !== 3) throw new TemplateFailure("Cannot specify ',' with this format type");
  if (spec.grouping !== "" && spec.align === "=" && spec.fill === "0") {
    throw new TemplateUnsupported("grouping with zeros in front is not implemented");
  }
  const grouped = whole.replace(new RegExp(`\\B(?=(?:[0-9a-fA-F]{${every}})+$)`, "g"), spec.grouping);
  return aligned(sign, grouped + rest, { ...spec, align: spec.align || ">" });
}

function aligned(sign: string, text: string, { fill, align, width }: Spec): string {
  if (align === "=") return sign + pad(text, width - sign.length, fill, (missing) => missing);
  const before = (missing: number): number => {
    if (align === "<") return 0;
    return align === ">" ? missing : Math.floor(missing / 2);
  };
  return pad(sign + text, width, codePoints(fill)[0] ?? " ", before);
}
