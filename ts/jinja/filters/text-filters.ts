/** Filters that make texts and numbers. */
import { bind, bindPositional, intOr, toInt, toText } from "../compile/arguments.ts";
import { checkTextLength } from "../budget.ts";
import { TemplateFailure, TemplateUnsupported } from "../failures.ts";
import type { Filter } from "./filter.ts";
import { toJson } from "./json.ts";
import { capitalize } from "../python/letter-case.ts";
import { lookup } from "./lookup.ts";
import { roundFloat, roundInt, toFloat } from "../python/numbers.ts";
import { binary, numeric } from "../python/operators.ts";
import { formatPercent } from "../python/percent-format.ts";
import { str } from "../python/printing.ts";
import { items, length as lengthOf } from "../python/sequences.ts";
import { pad, replaceText, SPACE, splitLines, strip, textLength, textSlice } from "../python/text.ts";
import { Dict, Markup, sequenceItems, Tuple, truth, typeName, Undefined, type Value } from "../values.ts";

function refuseMarkup(value: Value): void {
  if (value instanceof Markup) throw new TemplateUnsupported("filters of a text marked as safe are not implemented");
}

/** A filter of a text; other values are printed first, as jinja2's `soft_str` does. */
const ofText =
  (filter: (text: string, ...args: Parameters<Filter>) => Value): Filter =>
  (value, args, context) => {
    refuseMarkup(value);
    return filter(str(value), value, args, context);
  };

const simple = (filter: (text: string) => Value): Filter =>
  ofText((text, _value, args) => {
    bindPositional("the filter", args, 0, 0);
    return filter(text);
  });

const WORD_BEGINNING = new RegExp(`([-${SPACE}({\\[<]+)`);

function title(text: string): string {
  const words = text.split(WORD_BEGINNING).filter((word) => word !== "");
  return words.map((word) => textSlice(word, 0, 1).toUpperCase() + textSlice(word, 1, Infinity).toLowerCase()).join("");
}

const indent: Filter = (value, args) => {
  const [width = 4n, first = false, blank = false] = bind("indent", args, ["width", "first", "blank"]);
  const text = toText("indent", value);
  const inset = typeof width === "string" ? width : " ".repeat(Math.max(Math.min(toInt("indent", width), 10_000), 0));
  const lines = splitLines(`${text}\n`);
  checkTextLength(text.length + lines.length * inset.length);
  const rest = lines.map((line, index) => (index > 0 && (truth(blank) || line !== "") ? inset + line : line));
  return (truth(first) ? inset : "") + rest.join("\n");
};

const truncate: Filter = (value, args) => {
  const parameters = ["length", "killwords", "end", "leeway"];
  const [length = 255n, killWords = false, end = "...", leeway = null] = bind("truncate", args, parameters);
  const [ending, most] = [toText("truncate", end), toInt("truncate", length)];
  const slack = leeway === null ? 5 : toInt("truncate", leeway);
  const kept = most - textLength(ending);
  if (kept < 0 || slack < 0) throw new TemplateFailure("truncate: the length is below that of the ending");
  if (lengthOf(value) <= most + slack) return value;
  const text = toText("truncate", value);
  const cut = textSlice(text, 0, kept);
  if (truth(killWords)) return cut + ending;
  const blank = cut.lastIndexOf(" ");
  return (blank < 0 ? cut : cut.slice(0, blank)) + ending;
};

const INT = /^[+-]?\d+(?:_\d+)*$/;
const FLOAT = /^[+-]?(?:\d+(?:_\d+)*\.?(?:\d+(?:_\d+)*)?|\.\d+(?:_\d+)*)(?:e[+-]?\d+(?:_\d+)*)?$/i;

/** `float(text)`, or null. */
function parseFloatText(text: string): number | null {
  const trimmed = strip(text, null, "both");
  if (/[^\0-\x7f]/.test(trimmed) && /\p{Nd}/u.test(trimmed)) {
    throw new TemplateUnsupported("digits beyond 0 to 9 are not implemented as numbers");
  }
  if (FLOAT.test(trimmed)) return Number(trimmed.replaceAll("_", ""));
  const named = /^([+-]?)(inf|infinity|nan)$/i.exec(trimmed);
  if (named === null) return null;
  const size = named[2]?.toLowerCase() === "nan" ? NaN : Infinity;
  return named[1] === "-" ? -size : size;
}

const toIntFilter: Filter = (value, args) => {
  const [otherwise = 0n, base = 10n] = bind("int", args, ["default", "base"]);
  const number = numeric(value);
  if (typeof number === "bigint") return number;
  if (number !== null) return Number.isFinite(number) ? BigInt(Math.trunc(number)) : otherwise;
  if (value instanceof Undefined) return value.fail();
  refuseMarkup(value);
  if (typeof value !== "string") return otherwise;
  const text = strip(value, null, "both");
  const whole = base === 10n ? (INT.test(text) ? text : null) : inBase(text, toInt("int", base));
  if (whole !== null) return whole.startsWith("-") ? -BigInt(bare(whole)) : BigInt(bare(whole));
  const float = parseFloatText(value);
  return float !== null && Number.isFinite(float) ? BigInt(Math.trunc(float)) : otherwise;
};

function bare(text: string): string {
  return text.replace(/^[+-]/, "").replaceAll("_", "");
}

/** A number text in another base in BigInt's spelling; null when it is invalid. */
function inBase(text: string, base: number): string | null {
  const prefixes: Record<number, [string, RegExp]> = {
    2: ["0b", /^[+-]?(?:0b_?)?[01]+(?:_[01]+)*$/i],
    8: ["0o", /^[+-]?(?:0o_?)?[0-7]+(?:_[0-7]+)*$/i],
    16: ["0x", /^[+-]?(?:0x_?)?[\da-f]+(?:_[\da-f]+)*$/i],
  };
  const known = prefixes[base];
  if (known === undefined) throw new TemplateUnsupported(`int: the base ${base} is not implemented`);
  const [prefix, pattern] = known;
  if (!pattern.test(text)) return null;
  const digits = bare(text).replace(new RegExp(`^${prefix}`, "i"), "");
  return `${text.startsWith("-") ? "-" : ""}${prefix}${digits}`;
}

const toFloatFilter: Filter = (value, args) => {
  const [otherwise = 0] = bind("float", args, ["default"]);
  const number = numeric(value);
  if (number !== null) return toFloat(number);
  if (value instanceof Undefined) return value.fail();
  refuseMarkup(value);
  return typeof value === "string" ? (parseFloatText(value) ?? otherwise) : otherwise;
};

const round: Filter = (value, args) => {
  const [precision = 0n, method = "common"] = bind("round", args, ["precision", "method"]);
  const number = numeric(value);
  if (value instanceof Undefined) return value.fail();
  if (number === null) throw new TemplateFailure(`round wants a number, not a ${typeName(value)}`);
  const digits = toInt("round", precision);
  if (method === "common") return typeof number === "bigint" ? roundInt(number, digits) : roundFloat(number, digits);
  if (method !== "ceil" && method !== "floor") throw new TemplateFailure("round: method must be common, ceil or floor");
  const scaled = binary("*", number, binary("**", 10n, BigInt(digits)));
  const whole = typeof scaled === "number" ? BigInt(Math[method](scaled)) : scaled;
  return binary("/", whole, binary("**", 10n, BigInt(digits)));
};

const join: Filter = (value, args, context) => {
  const [separator = "", attribute = null] = bind("join", args, ["d", "attribute"]);
  const parts = [...context.items(value)].map((item) => str(lookup(attribute)(item)));
  const between = str(separator);
  checkTextLength(parts.reduce((total, part) => total + part.length + between.length, 0));
  return parts.join(between);
};

const tojson: Filter = (value, args) => {
  const parameters = ["ensure_ascii", "indent", "separators", "sort_keys"];
  const [ensureAscii = false, inset = null, separators = null, sortKeys = false] = bind("tojson", args, parameters);
  const isIndented = inset !== null;
  const [comma, colon] = separators === null ? [isIndented ? "," : ", ", ": "] : (sequenceItems(separators) ?? []);
  let step: string | null = null;
  if (typeof inset === "string") step = inset;
  else if (isIndented) step = " ".repeat(Math.max(Math.min(toInt("tojson", inset), 1000), 0));
  return toJson(value, {
    ensureAscii: truth(ensureAscii),
    indent: step,
    separators: [toText("tojson", comma ?? null), toText("tojson", colon ?? null)],
    sortKeys: truth(sortKeys),
  });
};

function urlQuoted(value: Value, isQuery: boolean): string {
  const text = str(value);
  if (/\p{Cs}/u.test(text)) throw new TemplateFailure("urlencode: the text is no valid Unicode");
  const quoted = encodeURIComponent(text).replace(
    /[!'()*]/g,
    (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return isQuery ? quoted.replaceAll("%20", "+") : quoted.replaceAll("%2F", "/");
}

const urlencode: Filter = (value, args) => {
  bindPositional("urlencode", args, 0, 0);
  if (typeof value === "string" || numeric(value) !== null || value === null) return urlQuoted(value, false);
  const pairs = value instanceof Dict ? [...value.entries()] : [...items(value)].map((pair) => [...items(pair)]);
  if (pairs.some(({ length }) => length !== 2)) throw new TemplateFailure("urlencode wants pairs of a key and a value");
  return pairs.map(([key = null, item = null]) => `${urlQuoted(key, true)}=${urlQuoted(item, true)}`).join("&");
};

export const TEXT_FILTERS: ReadonlyMap<string, Filter> = new Map<string, Filter>([
  ["upper", simple((text) => text.toUpperCase())],
  ["lower", simple((text) => text.toLowerCase())],
  ["capitalize", simple(capitalize)],
  ["title", simple(title)],
  ["wordcount", simple((text) => BigInt(text.match(/[\p{L}\p{N}_]+/gu)?.length ?? 0))],
  [
    "trim",
    ofText((text, _value, args) => {
      const [characters = null] = bind("trim", args, ["chars"]);
      return strip(text, characters === null ? null : toText("trim", characters), "both");
    }),
  ],
  [
    "center",
    ofText((text, _value, args) => {
      const width = intOr("center", bind("center", args, ["width"])[0], 80);
      return pad(text, width, " ", (missing) => Math.floor(missing / 2) + (missing & width & 1));
    }),
  ],
  [
    "replace",
    ofText((text, _value, args) => {
      const [old = null, fresh = null, most = null] = bind("replace", args, ["old", "new", "count"], 2);
      return replaceText(text, str(old), str(fresh), most === null ? -1 : toInt("replace", most));
    }),
  ],
  [
    "format",
    ofText((text, _value, args) => {
      if (args.positional.length > 0 && args.named.size > 0) {
        throw new TemplateFailure("format takes arguments with names or without, not both");
      }
      if (args.named.size === 0) return formatPercent(text, new Tuple(args.positional));
      const named = new Dict();
      for (const [name, value] of args.named) named.set(name, value);
      return formatPercent(text, named);
    }),
  ],
  ["string", (value) => (value instanceof Markup ? value : str(value))],
  ["safe", (value) => new Markup(str(value))],
  ...["escape", "e"].map((name): [string, Filter] => [
    name,
    (value) => (value instanceof Markup ? value : Markup.escape(str(value))),
  ]),
  ["forceescape", (value) => Markup.escape(str(value))],
  ["indent", indent],
  ["truncate", truncate],
  ["int", toIntFilter],
  ["float", toFloatFilter],
  ["round", round],
  [
    "abs",
    (value) => {
      const number = numeric(value);
      if (value instanceof Undefined) return value.fail();
      if (number === null) throw new TemplateFailure(`abs wants a number, not a ${typeName(value)}`);
      return number < 0 || Object.is(number, -0) ? -number : number;
    },
  ],
  ["join", join],
  ["tojson", tojson],
  ["urlencode", urlencode],
]);
