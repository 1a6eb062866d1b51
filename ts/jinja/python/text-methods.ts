/** The methods of `str`. */
import { bind, bindPositional, intOr, toInt, toText } from "../compile/arguments.ts";
import { checkTextLength } from "../budget.ts";
import { TemplateFailure } from "../failures.ts";
import { capitalize, swapCase, TEXT_TESTS, titleWords } from "./letter-case.ts";
import { items } from "./sequences.ts";
import { codePoints, isSpace, pad, pointIndex, replaceText, splitLines, strip, textLength, textSlice } from "./text.ts";
import { type Arguments, Dict, Tuple, truth, typeName, type Value } from "../values.ts";

export type TextMethod = (text: string, args: Arguments) => Value;

/** Methods of Python that are not implemented. */
export const UNSUPPORTED_TEXT_METHODS: readonly string[] = ["encode", "maketrans", "translate", "casefold"];

const stripping =
  (name: string, sides: "both" | "left" | "right"): TextMethod =>
  (text, args) => {
    const [characters = null] = bindPositional(name, args, 0, 1);
    return strip(text, characters === null ? null : toText(name, characters), sides);
  };

/** The part of the text between `start` and `end`, and its beginning. */
function range(name: string, text: string, start: Value | undefined, end: Value | undefined): [string, number] {
  const size = textLength(text);
  const place = (value: Value | undefined, otherwise: number): number => {
    const at = value === undefined || value === null ? otherwise : toInt(name, value);
    return at < 0 ? Math.max(at + size, 0) : at;
  };
  const [first, last] = [place(start, 0), Math.min(place(end, size), size)];
  // A range whose beginning is behind its end contains nothing, not even the empty text.
  return first > last ? ["", -1] : [textSlice(text, first, last), first];
}

const finding =
  (name: string, isLast: boolean, mustBeThere: boolean): TextMethod =>
  (text, args) => {
    const [part, start, end] = bindPositional(name, args, 1, 3);
    const [within, first] = range(name, text, start, end);
    const wanted = toText(name, part);
    const unit = first < 0 ? -1 : isLast ? within.lastIndexOf(wanted) : within.indexOf(wanted);
    if (unit < 0 && mustBeThere) throw new TemplateFailure(`${name}: substring not found`);
    return unit < 0 ? -1n : BigInt(first + pointIndex(within, unit));
  };

const affix =
  (name: string, holds: (text: string, part: string) => boolean): TextMethod =>
  (text, args) => {
    const [parts, start, end] = bindPositional(name, args, 1, 3);
    const [within, first] = range(name, text, start, end);
    const all = parts instanceof Tuple ? parts.items : [parts];
    return all.map((part) => toText(name, part)).some((part) => first >= 0 && holds(within, part));
  };

const padding =
  (name: string, before: (missing: number, width: number) => number): TextMethod =>
  (text, args) => {
    const [width, fill = " "] = bindPositional(name, args, 1, 2);
    const filling = toText(name, fill);
    if (textLength(filling) !== 1) throw new TemplateFailure(`${name} fills with exactly one character`);
    const wide = toInt(name, width);
    return pad(text, wide, filling, (missing) => before(missing, wide));
  };

/** CPython puts an odd blank in front when the width is odd. */
const centered = (missing: number, width: number): number => Math.floor(missing / 2) + (missing & width & 1);

/** The separator, null for whitespace, and how often it may be found, negative for always. */
function separation(name: string, args: Arguments): [string | null, number] {
  const [separator = null, most] = bind(name, args, ["sep", "maxsplit"]);
  return [separator === null ? null : toText(name, separator), intOr(name, most, -1)];
}

function split(text: string, separator: string | null, limit: number): string[] {
  if (separator !== null) return splitAt(text, separator, limit);
  const parts: string[] = [];
  let at = 0;
  const skip = (isTaken: (unit: string) => boolean): void => {
    while (at < text.length && isTaken(text[at] ?? "")) at += 1;
  };
  for (;;) {
    skip(isSpace);
    if (at >= text.length) return parts;
    if (limit >= 0 && parts.length >= limit) return [...parts, text.slice(at)];
    const start = at;
    skip((unit) => !isSpace(unit));
    parts.push(text.slice(start, at));
  }
}

function splitAt(text: string, separator: string, limit: number): string[] {
  if (separator === "") throw new TemplateFailure("split: empty separator");
  const parts = text.split(separator);
  if (limit < 0 || parts.length <= limit + 1) return parts;
  return [...parts.slice(0, limit), parts.slice(limit).join(separator)];
}

function rsplit(text: string, separator: string | null, limit: number): string[] {
  const turned = (value: string): string => codePoints(value).reverse().join("");
  const parts = split(turned(text), separator === null ? null : turned(separator), limit);
  return parts.map(turned).reverse();
}

const partition =
  (name: string, isLast: boolean): TextMethod =>
  (text, args) => {
    const [part] = bindPositional(name, args, 1, 1);
    const separator = toText(name, part);
    if (separator === "") throw new TemplateFailure(`${name}: empty separator`);
    const at = isLast ? text.lastIndexOf(separator) : text.indexOf(separator);
    if (at < 0) return new Tuple(isLast ? ["", "", text] : [text, "", ""]);
    return new Tuple([text.slice(0, at), separator, text.slice(at + separator.length)]);
  };

function join(text: string, args: Arguments): Value {
  const [parts = null] = bindPositional("join", args, 1, 1);
  const texts = [...items(parts)].map((part, index) => {
    if (typeof part === "string") return part;
    throw new TemplateFailure(`join: element ${index} is a ${typeName(part)}, not a text`);
  });
  checkTextLength(texts.reduce((total, part) => total + part.length + text.length, 0));
  return texts.join(text);
}

function expandTabs(text: string, args: Arguments): Value {
  const [size] = bind("expandtabs", args, ["tabsize"]);
  const width = intOr("expandtabs", size, 8);
  let [column, expanded] = [0, ""];
  for (const character of codePoints(text)) {
    if (character === "\t") {
      const blanks = width > 0 ? width - (column % width) : 0;
      checkTextLength(expanded.length + blanks);
      expanded += " ".repeat(blanks);
      column += blanks;
    } else {
      expanded += character;
      column = character === "\n" || character === "\r" ? 0 : column + 1;
    }
  }
  return expanded;
}

function count(text: string, args: Arguments): Value {
  const [part, start, end] = bindPositional("count", args, 1, 3);
  const [within, first] = range("count", text, start, end);
  const wanted = toText("count", part);
  if (first < 0) return 0n;
  return BigInt(wanted === "" ? textLength(within) + 1 : within.split(wanted).length - 1);
}

function replace(text: string, args: Arguments): Value {
  const [old, fresh, most] = bind("replace", args, ["old", "new", "count"], 2);
  return replaceText(text, toText("replace", old), toText("replace", fresh), intOr("replace", most, -1));
}

function zeroFill(text: string, args: Arguments): Value {
  const [width] = bindPositional("zfill", args, 1, 1);
  const sign = /^[+-]/.exec(text)?.[0] ?? "";
  return sign + pad(text.slice(sign.length), toInt("zfill", width) - sign.length, "0", (missing) => missing);
}

const plain =
  (name: string, method: (text: string) => Value): TextMethod =>
  (text, args) => {
    bindPositional(name, args, 0, 0);
    return method(text);
  };

const removing =
  (name: string, remove: (text: string, part: string) => string): TextMethod =>
  (text, args) =>
    remove(text, toText(name, bindPositional(name, args, 1, 1)[0]));

export const TEXT_METHODS: ReadonlyMap<string, TextMethod> = new Map<string, TextMethod>([
  ["strip", stripping("strip", "both")],
  ["lstrip", stripping("lstrip", "left")],
  ["rstrip", stripping("rstrip", "right")],
  ["find", finding("find", false, false)],
  ["rfind", finding("rfind", true, false)],
  ["index", finding("index", false, true)],
  ["rindex", finding("rindex", true, true)],
  ["startswith", affix("startswith", (text, part) => text.startsWith(part))],
  ["endswith", affix("endswith", (text, part) => text.endsWith(part))],
  ["ljust", padding("ljust", () => 0)],
  ["rjust", padding("rjust", (missing) => missing)],
  ["center", padding("center", centered)],
  ["split", (text, args) => split(text, ...separation("split", args))],
  ["rsplit", (text, args) => rsplit(text, ...separation("rsplit", args))],
  ["partition", partition("partition", false)],
  ["rpartition", partition("rpartition", true)],
  ["join", join],
  ["expandtabs", expandTabs],
  ["count", count],
  ["replace", replace],
  ["zfill", zeroFill],
  ["removeprefix", removing("removeprefix", (text, part) => (text.startsWith(part) ? text.slice(part.length) : text))],
  [
    "removesuffix",
    removing("removesuffix", (text, part) => {
      return part !== "" && text.endsWith(part) ? text.slice(0, -part.length) : text;
    }),
  ],
  [
    "splitlines",
    (text, args) => {
      const [keepEnds = false] = bind("splitlines", args, ["keepends"]);
      return splitLines(text, truth(keepEnds));
    },
  ],
  ["upper", plain("upper", (text) => text.toUpperCase())],
  ["lower", plain("lower", (text) => text.toLowerCase())],
  ["capitalize", plain("capitalize", capitalize)],
  ["title", plain("title", titleWords)],
  ["swapcase", plain("swapcase", swapCase)],
  ...Object.entries(TEXT_TESTS).map(([name, test]): [string, TextMethod] => [name, plain(name, test)]),
]);

/** The arguments of `format_map` as those of `format`. */
export function mappedArguments(args: Arguments): Arguments {
  const [mapping = null] = bindPositional("format_map", args, 1, 1);
  if (!(mapping instanceof Dict)) throw new TemplateFailure("format_map wants a dict");
  return {
    positional: [],
    named: new Map([...mapping.entries()].map(([key, value]) => [toText("format_map", key), value])),
  };
}
