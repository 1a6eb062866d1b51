/** string-method-chain: the results of Python string methods, whose strip takes a set of letters and whose split drops or keeps gaps. */
import { between } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { itemRow } from "../item-row.ts";

interface Call {
  method:
    | "strip"
    | "lstrip"
    | "rstrip"
    | "removeprefix"
    | "removesuffix"
    | "partition"
    | "rpartition"
    | "replace"
    | "split"
    | "rsplit"
    | "center"
    | "zfill"
    | "swapcase"
    | "title"
    | "find"
    | "count";
  text: string;
  number: number | null;
}
export interface StringProblem {
  start: string;
  calls: Call[];
}

/** By level: letters of the text, calls. */
const SIZES = [
  [8, 2],
  [11, 4],
  [14, 6],
  [18, 9],
  [24, 14],
] as const;
const LETTERS = "abab-- cC";

export const stringMethodChain = itemRow<StringProblem>({
  id: "string-method-chain",
  asks: "the results of Python string methods with character sets, prefixes, counts and separators",
  form: "lines",
  tries: 60,
  make,
  prompts: [
    (one) =>
      `${stringSource(one)}\n\nEach show prints the value with its spaces replaced by _. Write the printed lines.`,
    (one) =>
      `Every call works on the original text s. What does this Python program print, line by line?\n\n${stringSource(one)}`,
    (one) =>
      `Strip, split and their relatives, in Python:\n\n${stringSource(one)}\n\nGive the output (spaces are printed as _, parts are joined by |).`,
    (one) => `Predict each printed line:\n\n${stringSource(one)}`,
  ],
});

export function stringSource({ start, calls }: StringProblem): string {
  const lines = calls.map(({ method, text, number }) => {
    const parts = [...(text === "" ? [] : [`"${text}"`]), ...(number === null ? [] : [String(number)])];
    const first = method === "center" || method === "zfill" ? parts.toReversed() : parts;
    return `show(s.${method}(${first.join(", ")}))`;
  });
  return `def show(value):
    if isinstance(value, (list, tuple)):
        value = "|".join(value)
    print("<" + str(value).replace(" ", "_") + ">")

s = "${start}"
${lines.join("\n")}`;
}

function make(rng: Rng, level: Level) {
  const [length, count] = at(SIZES, level - 1);
  const word = (size: number): string =>
    range(size)
      .map(() => rng.pick(LETTERS))
      .join("");
  const start = word(length);
  const part = (): string => {
    const from = rng.integer(length - 2);
    return rng.integer(3) === 0 ? word(between(rng, 1, 2)) : start.slice(from, from + between(rng, 1, 2));
  };
  const calls = range(count).map((): Call => {
    const method = rng.pick([
      "strip",
      "lstrip",
      "rstrip",
      "removeprefix",
      "removesuffix",
      "partition",
      "rpartition",
      "replace",
      "split",
      "split",
      "rsplit",
      "center",
      "zfill",
      "swapcase",
      "title",
      "find",
      "count",
    ] as const);
    switch (method) {
      case "center":
        return { method, text: rng.pick(["*", "."]), number: length + between(rng, 1, 5) };
      case "zfill":
        return { method, text: "", number: length + between(rng, 1, 4) };
      case "swapcase":
      case "title":
        return { method, text: "", number: null };
      case "replace":
        // The new text follows the old one inside of the quotes.
        return {
          method,
          text: `${part()}", "${rng.pick(["x", "", "--"])}`,
          number: rng.integer(2) === 0 ? between(rng, 1, 2) : null,
        };
      case "split":
      case "rsplit":
        return rng.integer(3) === 0
          ? { method, text: "", number: null }
          : { method, text: part(), number: rng.integer(2) === 0 ? between(rng, 1, 2) : null };
      case "removeprefix":
        return { method, text: rng.integer(2) === 0 ? start.slice(0, between(rng, 1, 3)) : part(), number: null };
      case "removesuffix":
        return { method, text: rng.integer(2) === 0 ? start.slice(-between(rng, 1, 3)) : part(), number: null };
      case "strip":
      case "lstrip":
      case "rstrip":
        return { method, text: `${start.charAt(0)}${start.charAt(length - 1)}${rng.pick(LETTERS)}`, number: null };
      default:
        return { method, text: part(), number: null };
    }
  });
  const problem = { start, calls };
  const show = (value: string | number | readonly string[]): string =>
    `<${(typeof value === "object" ? value.join("|") : String(value)).replaceAll(" ", "_")}>`;
  const items = calls.map((call) => show(valueOf(start, call)));
  if (new Set(items).size < Math.min(4, count) || items.filter((item) => item === show(start)).length > count / 2)
    return null;
  const misses = [
    calls.map((call) => (call.method.endsWith("strip") ? show(asPrefix(start, call)) : show(valueOf(start, call)))),
    calls.map((call) =>
      show(
        valueOf(start, { ...call, number: call.method === "center" || call.method === "zfill" ? call.number : null }),
      ),
    ),
    items.map((item) => item.slice(1, -1)),
  ];
  return { problem, items, misses, effort: Math.round((length * count) / 3) };
}

function valueOf(s: string, { method, text, number }: Call): string | number | readonly string[] {
  switch (method) {
    case "strip":
      return stripped(stripped(s, text, "left"), text, "right");
    case "lstrip":
      return stripped(s, text, "left");
    case "rstrip":
      return stripped(s, text, "right");
    case "removeprefix":
      return s.startsWith(text) ? s.slice(text.length) : s;
    case "removesuffix":
      return s.endsWith(text) ? s.slice(0, s.length - text.length) : s;
    case "partition":
    case "rpartition": {
      const place = method === "partition" ? s.indexOf(text) : s.lastIndexOf(text);
      if (place < 0) return method === "partition" ? [s, "", ""] : ["", "", s];
      return [s.slice(0, place), text, s.slice(place + text.length)];
    }
    case "replace": {
      const [old = "", fresh = ""] = text.split('", "');
      const parts = s.split(old);
      const most = number ?? parts.length;
      return parts.reduce((joined, one, index) => `${joined}${index <= most ? fresh : old}${one}`);
    }
    case "split": {
      if (text === "") return s.split(" ").filter((one) => one !== "");
      const parts = s.split(text);
      return number === null || parts.length <= number
        ? parts
        : [...parts.slice(0, number), parts.slice(number).join(text)];
    }
    case "rsplit": {
      if (text === "") return s.split(" ").filter((one) => one !== "");
      const found: string[] = [];
      let rest = s;
      for (
        let place = rest.lastIndexOf(text);
        place >= 0 && found.length < (number ?? Infinity);
        place = rest.lastIndexOf(text)
      ) {
        found.unshift(rest.slice(place + text.length));
        rest = rest.slice(0, place);
      }
      return [rest, ...found];
    }
    case "center": {
      const space = (number ?? 0) - s.length;
      // Python puts the odd one to the left where the width is odd.
      const left = Math.floor(space / 2) + (space % 2 === 1 && (number ?? 0) % 2 === 1 ? 1 : 0);
      return `${text.repeat(left)}${s}${text.repeat(space - left)}`;
    }
    case "zfill": {
      const sign = /^[+-]/u.test(s) ? s.charAt(0) : "";
      return `${sign}${s.slice(sign.length).padStart((number ?? 0) - sign.length, "0")}`;
    }
    case "swapcase":
      return s.replaceAll(/[a-z]/giu, (one) => (one === one.toLowerCase() ? one.toUpperCase() : one.toLowerCase()));
    case "title":
      return s.replaceAll(/[a-z]+/giu, (one) => `${one.charAt(0).toUpperCase()}${one.slice(1).toLowerCase()}`);
    case "find":
      return s.indexOf(text);
    case "count":
      return s.split(text).length - 1;
  }
}

function stripped(s: string, letters: string, side: "left" | "right"): string {
  const kept = s.split("").map((letter) => !letters.includes(letter));
  if (!kept.includes(true)) return "";
  return side === "left" ? s.slice(kept.indexOf(true)) : s.slice(0, kept.lastIndexOf(true) + 1);
}

/** The slip that takes the argument of strip for a text. */
function asPrefix(s: string, { method, text }: Call): string {
  const left = method !== "rstrip" && s.startsWith(text) ? s.slice(text.length) : s;
  return method !== "lstrip" && left.endsWith(text) ? left.slice(0, left.length - text.length) : left;
}
