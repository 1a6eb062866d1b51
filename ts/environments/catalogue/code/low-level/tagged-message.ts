/** tagged-message: the fields of a binary message of tags, variable-length numbers, texts and nested messages. */
import { between, sample } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { word } from "../../../builtin/words.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { itemRow } from "../item-row.ts";

type Kind = "number" | "signed" | "text" | "message";
interface Field {
  tag: number;
  kind: Kind;
  /** The content of a number. */
  value: number;
  text: string;
  fields: Field[];
}
export interface MessageProblem {
  hex: string;
  /** Code of each kind in the lowest two bits of a key. */
  kinds: Kind[];
  /** Whether the group with the highest bits of a number comes first. */
  isBigEndian: boolean;
}

/** By level: fields of a message, kinds, depth, largest number. */
const SIZES = [
  [2, ["number"], 0, 120],
  [3, ["number", "signed"], 0, 900],
  [4, ["number", "signed", "text"], 0, 9_000],
  [4, ["number", "signed", "text", "message"], 1, 60_000],
  [4, ["number", "signed", "text", "message"], 2, 900_000],
] as const;
const KINDS: readonly Kind[] = ["number", "signed", "text", "message"];
const MOST_BYTES = 90;

export const taggedMessage = itemRow<MessageProblem>({
  id: "tagged-message",
  asks: "the fields of a hex dump of tags, variable-length numbers and nested messages",
  form: "lines",
  make,
  prompts: [
    (one) =>
      `${scheme(one)}\n\nDecode ${one.hex}\n\nWrite one line per field in the order of the message: tag=value. The fields inside of a message with tag t get its tag in front, as in t.3=value; the message itself gets no line.`,
    (one) =>
      `Hex dump: ${one.hex}\n\n${scheme(one)}\n\nList the contents: a line tag=value for every number and text, in order of appearance. For fields of an inner message join the tags with dots (outer.inner=value).`,
    (one) =>
      `A sensor sends binary messages. ${scheme(one)}\n\nThis one arrived:\n${one.hex}\n\nReport every value on a line as path=value. The path is the tag, with the tags of the enclosing messages before it, separated by dots.`,
    (one) =>
      `Reverse the encoding.\n\n${one.hex}\n\n${scheme(one)}\n\nOutput: lines of the form 5=120 or 2.7=-4 or 3=abc (dots for nesting), first field first.`,
  ],
});

function scheme({ kinds, isBigEndian }: MessageProblem): string {
  const meanings: Readonly<Record<Kind, string>> = {
    number: "a number without sign",
    signed: "a number with sign: n >= 0 is stored as 2n, n < 0 as -2n - 1",
    text: "a number that gives a length in bytes, then that many bytes of ASCII",
    message: "a number that gives a length in bytes, then fields that fill it",
  };
  const list = kinds.map((kind, code) => `${code} is ${meanings[kind]}`).join("; ");
  return `A message is a sequence of fields. A field is a key, which is a number equal to 4 * tag + kind, and a content. Kinds: ${list}. Numbers are stored in groups of seven bits, one in each byte, the ${isBigEndian ? "most" : "least"} significant group first; the highest bit of a byte is 1 if another byte of the number follows.`;
}

function make(rng: Rng, level: Level) {
  const [count, allowed, depth, largest] = at(SIZES, level - 1);
  const kinds = sample(KINDS, KINDS.length, rng);
  const isBigEndian = rng.integer(2) === 0;
  const drawFields = (left: number): Field[] =>
    range(left < depth ? between(rng, 2, 3) : count).map((index) => {
      const drawn = left > 0 && index === 1 ? "message" : rng.pick(allowed);
      const kind = drawn === "message" && left === 0 ? "signed" : drawn;
      const value = Math.max(1, Math.floor(largest ** (0.4 + 0.6 * rng.next())));
      return {
        tag: between(rng, 1, level > 2 ? 60 : 20),
        kind,
        value: kind === "signed" && rng.integer(2) === 0 ? -value : value,
        text: word(rng, 1),
        fields: kind === "message" ? drawFields(left - 1) : [],
      };
    });
  const fields = drawFields(depth);
  const bytes = encoded(fields, kinds, isBigEndian);
  if (bytes.length > MOST_BYTES) return null;
  const items = linesOf(fields, "");
  const misses = [
    linesOf(fields, "").map((line) => line.replace(/-(\d+)$/u, "$1")),
    linesOf(
      fields.map((field) => (field.kind === "signed" ? { ...field, value: zigzag(field.value) } : field)),
      "",
    ),
    items.map((line) => line.replace(/^.*\./u, "")),
    items.toReversed(),
  ];
  const hex = bytes.map((byte) => byte.toString(16).padStart(2, "0")).join(" ");
  return { problem: { hex, kinds, isBigEndian }, items, misses, effort: bytes.length + 4 * depth * items.length };
}

function zigzag(value: number): number {
  return value < 0 ? -2 * value - 1 : 2 * value;
}

function encoded(fields: readonly Field[], kinds: readonly Kind[], isBigEndian: boolean): number[] {
  const number = (value: number): number[] => {
    const groups: number[] = [];
    for (let rest = value; groups.length === 0 || rest > 0; rest = Math.floor(rest / 128)) groups.push(rest % 128);
    if (isBigEndian) groups.reverse();
    return groups.map((group, index) => (index === groups.length - 1 ? group : group + 128));
  };
  return fields.flatMap((field) => {
    const key = number(4 * field.tag + kinds.indexOf(field.kind));
    if (field.kind === "number") return [...key, ...number(field.value)];
    if (field.kind === "signed") return [...key, ...number(zigzag(field.value))];
    const content =
      field.kind === "text"
        ? range(field.text.length).map((place) => field.text.charCodeAt(place))
        : encoded(field.fields, kinds, isBigEndian);
    return [...key, ...number(content.length), ...content];
  });
}

function linesOf(fields: readonly Field[], path: string): string[] {
  return fields.flatMap(({ tag, kind, value, text, fields: inner }) =>
    kind === "message" ? linesOf(inner, `${path}${tag}.`) : [`${path}${tag}=${kind === "text" ? text : value}`],
  );
}
