/** template-rendering: the text that a template with sections, inverted sections and nested contexts gives for some data. */
import { between, sample } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { distinct, word } from "../../../builtin/words.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { itemRow } from "../item-row.ts";

type Value = string | boolean | Context | Context[];
interface Context {
  [name: string]: Value;
}
type Part =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "value"; readonly name: string }
  | { readonly kind: "section"; readonly name: string; readonly inverted: boolean; readonly parts: readonly Part[] };
export interface TemplateProblem {
  template: string;
  data: Context;
}

/** By level: lines of the template, depth of sections, keys, least and most looked-up names. */
const SIZES = [
  [3, 1, 3, 4, 8],
  [4, 1, 4, 9, 14],
  [5, 2, 5, 15, 23],
  [6, 2, 6, 24, 36],
  [8, 3, 7, 37, 120],
] as const;
const RULES =
  "{{name}} prints a value, or nothing if there is none or it is no text. {{#name}}...{{/name}} prints its inside once for each element of a list, once for an object, a text or true, and not at all for false, an empty list or a name that is not there; an element or object becomes the innermost context. {{^name}}...{{/name}} prints its inside just where {{#name}} would print nothing. A name is looked up in the innermost context first, then outwards, and the first context that has it decides.";

export const templateRendering = itemRow<TemplateProblem>({
  id: "template-rendering",
  asks: "the text of a template with sections, inverted sections and nested contexts for given data",
  form: "lines",
  tries: 60,
  make,
  prompts: [
    ({ template, data }) =>
      `Template:\n\n${template}\n\nData:\n\n${JSON.stringify(data)}\n\n${RULES}\n\nGive the rendered text; line breaks are marked by ;, so write a new line for each ; of the output (which is not printed), and leave out empty lines.`,
    ({ template, data }) =>
      `${RULES}\n\nRender\n\n${template}\n\nfor ${JSON.stringify(data)}\n\nA ; ends a line of the output and is not printed itself. Answer with the lines that are not empty.`,
    ({ template, data }) =>
      `What does the template engine write for this context?\n\n${JSON.stringify(data)}\n\n${template}\n\n${RULES} In the output a ; stands for a line break: give line after line, without the ; and without empty lines.`,
    ({ template, data }) =>
      `Expand the template by these rules: ${RULES}\n\n${template}\n\nContext: ${JSON.stringify(data)}\n\nEvery ; in the result ends a line. List the lines that hold something, in order.`,
  ],
});

function textOf(parts: readonly Part[]): string {
  return parts
    .map((part) => {
      if (part.kind === "text") return part.text;
      if (part.kind === "value") return `{{${part.name}}}`;
      return `{{${part.inverted ? "^" : "#"}${part.name}}}${textOf(part.parts)}{{/${part.name}}}`;
    })
    .join("");
}

interface Counter {
  lookups: number;
}

/** `isFlat`: of a reader who looks a name up in the innermost context only. */
function render(parts: readonly Part[], contexts: readonly Context[], counter: Counter, isFlat = false): string {
  const valueOf = (name: string): Value | undefined => {
    counter.lookups += 1;
    const searched = isFlat ? contexts.slice(-1) : contexts;
    return searched.findLast((context) => name in context)?.[name];
  };
  return parts
    .map((part) => {
      if (part.kind === "text") return part.text;
      const value = valueOf(part.name);
      if (part.kind === "value") return typeof value === "string" ? value : "";
      const isEmpty = value === undefined || value === false || (Array.isArray(value) && value.length === 0);
      if (part.inverted) return isEmpty ? render(part.parts, contexts, counter, isFlat) : "";
      if (isEmpty) return "";
      const elements = Array.isArray(value) ? value : typeof value === "object" ? [value] : [null];
      return elements
        .map((one) => render(part.parts, one === null ? contexts : [...contexts, one], counter, isFlat))
        .join("");
    })
    .join("");
}

function make(rng: Rng, level: Level) {
  const [count, depth, keyCount, least, most] = at(SIZES, level - 1);
  const keys = sample(["k", "t", "u", "v", "w", "x", "y", "z"], keyCount, rng);
  const words = distinct(12, () => word(rng, 1));
  const drawValue = (left: number): Value => {
    const kind = rng.integer(left > 0 ? 7 : 3);
    if (kind <= 1) return rng.pick(words);
    if (kind === 2) return rng.integer(2) === 0;
    if (kind === 3) return drawContext(left - 1);
    return range(rng.integer(4)).map(() => drawContext(left - 1));
  };
  const drawContext = (left: number): Context =>
    Object.fromEntries(sample(keys, between(rng, 1, Math.min(3, keyCount)), rng).map((key) => [key, drawValue(left)]));
  const data = Object.fromEntries(keys.slice(1).map((key) => [key, drawValue(depth)]));
  const drawPart = (left: number): Part => {
    const kind = rng.integer(left > 0 ? 5 : 3);
    if (kind === 0) return { kind: "text", text: `${rng.pick("abcde")}-` };
    if (kind <= 2) return { kind: "value", name: rng.pick(keys) };
    return { kind: "section", name: rng.pick(keys), inverted: rng.integer(3) === 0, parts: drawParts(left - 1) };
  };
  const drawParts = (left: number): Part[] => [
    ...range(between(rng, 1, 3)).map(() => drawPart(left)),
    ...(rng.integer(2) === 0 ? [{ kind: "text", text: ";" } as const] : []),
  ];
  const lines = range(count).map((): Part[] => [...drawParts(depth), { kind: "text", text: ";" }]);
  const parts = lines.flat();
  const output = (isFlat: boolean, of: readonly Part[] = parts): string[] =>
    render(of, [data], { lookups: 0 }, isFlat)
      .split(";")
      .filter((line) => line !== "");
  const counter: Counter = { lookups: 0 };
  render(parts, [data], counter);
  const items = output(false);
  const flat = output(true);
  if (counter.lookups < least || counter.lookups > most || items.length < 3 || items.length > 25) return null;
  if (level > 1 && flat.join() === items.join()) return null;
  const noInverse = (some: readonly Part[]): Part[] =>
    some.map((part) => (part.kind === "section" ? { ...part, inverted: false, parts: noInverse(part.parts) } : part));
  const misses = [
    flat,
    output(false, noInverse(parts)),
    output(
      false,
      parts.filter(({ kind }) => kind !== "section"),
    ),
  ];
  return {
    problem: { template: lines.map(textOf).join("\n"), data },
    items,
    misses: misses.filter((miss) => miss.length > 0),
    effort: counter.lookups,
  };
}
