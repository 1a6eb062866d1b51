/** shell-words: the arguments that bash makes of words with quotes, expansions, splitting and braces. */
import { sample } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { distinct, word } from "../../../builtin/words.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { itemRow } from "../item-row.ts";

type Quote = "none" | "single" | "double";
interface Piece {
  kind: "text" | "value" | "default" | "other" | "length" | "front" | "back" | "all" | "star" | "braces";
  quote: Quote;
  /** The name of a variable, or a text. */
  name: string;
  argument: string;
}
export interface WordsProblem {
  script: string[];
}
interface Shell {
  readonly values: ReadonlyMap<string, string>;
  readonly parameters: readonly string[];
}

/** By level: words, most pieces of a word, kinds of pieces from the front of the list. */
const SIZES = [
  [2, 2, 2],
  [3, 2, 4],
  [4, 3, 7],
  [5, 3, 9],
  [7, 4, 10],
] as const;
const KINDS = ["text", "value", "default", "length", "braces", "other", "front", "back", "all", "star"] as const;
const NAMES = ["u", "v", "w", "x"];

export const shellWords = itemRow<WordsProblem>({
  id: "shell-words",
  asks: "the arguments that bash makes of words with quotes, expansions, splitting and braces",
  form: "lines",
  tries: 20,
  make,
  prompts: [
    ({ script }) =>
      `What does this bash script print? tr shows each space as an underscore.\n\n${script.join("\n")}\n\nGive every line of the output.`,
    ({ script }) =>
      `A script for bash:\n\n${script.join("\n")}\n\nprintf repeats its format for each argument, and tr turns spaces into underscores so that they can be seen. Write down the output, line by line.`,
    ({ script }) =>
      `Quoting, expansion and word splitting decide what printf gets here:\n\n${script.join("\n")}\n\nState the printed lines exactly (IFS has its usual value; spaces appear as _ because of tr).`,
    ({ script }) =>
      `Run by bash without options:\n\n${script.join("\n")}\n\nOne line per argument comes out, spaces replaced by _. Which lines are they, in order?`,
  ],
});

function pieceText({ kind, quote, name, argument }: Piece): string {
  const text = {
    text: name,
    value: `$\{${name}}`,
    default: `$\{${name}:-${argument}}`,
    other: `$\{${name}:+${argument}}`,
    length: `$\{#${name}}`,
    front: `$\{${name}#${argument}}`,
    back: `$\{${name}%${argument}}`,
    all: "$@",
    star: "$*",
    braces: `{${name},${argument}}`,
  }[kind];
  return quote === "none" ? text : quote === "single" ? `'${text}'` : `"${text}"`;
}

/** Braces come before everything else: each alternative makes a word. */
function unbraced(pieces: readonly Piece[]): Piece[][] {
  const place = pieces.findIndex(({ kind, quote }) => kind === "braces" && quote === "none");
  const one = pieces[place];
  if (one === undefined) return [[...pieces]];
  const rests = unbraced(pieces.slice(place + 1));
  return [one.name, one.argument].flatMap((name) =>
    rests.map((rest): Piece[] => [...pieces.slice(0, place), { ...one, kind: "text", name }, ...rest]),
  );
}

function valueOf({ kind, name, argument }: Piece, { values, parameters }: Shell): string {
  const value = values.get(name) ?? "";
  if (kind === "value") return value;
  if (kind === "default") return value === "" ? argument : value;
  if (kind === "other") return value === "" ? "" : argument;
  if (kind === "length") return String(value.length);
  if (kind === "front") return value.startsWith(argument) ? value.slice(argument.length) : value;
  if (kind === "back") return value.endsWith(argument) ? value.slice(0, value.length - argument.length) : value;
  return kind === "star" ? parameters.join(" ") : "";
}

/** Fields of a word. `splits` is false for a reader who forgets that unquoted expansions are split. */
function fieldsOf(pieces: readonly Piece[], shell: Shell, splits = true): string[] {
  const fields: string[] = [];
  let open: string | null = null;
  const close = (): void => {
    if (open !== null) fields.push(open);
    open = null;
  };
  const addSplit = (text: string): void => {
    for (const letter of text) {
      if (letter === " " && splits) close();
      else open = (open ?? "") + letter;
    }
  };
  for (const piece of pieces) {
    if (piece.quote === "single") open = (open ?? "") + pieceText({ ...piece, quote: "none" });
    else if (piece.kind === "text") open = (open ?? "") + piece.name;
    else if (piece.kind === "braces") open = (open ?? "") + pieceText({ ...piece, quote: "none" });
    else if (piece.kind === "all") {
      for (const [index, parameter] of shell.parameters.entries()) {
        if (index > 0) close();
        if (piece.quote === "double") open = (open ?? "") + parameter;
        else addSplit(parameter);
      }
    } else if (piece.quote === "double") open = (open ?? "") + valueOf(piece, shell);
    else addSplit(valueOf(piece, shell));
  }
  close();
  return fields;
}

function make(rng: Rng, level: Level) {
  const [count, most, kinds] = at(SIZES, level - 1);
  const parts = distinct(8, () => word(rng, 1));
  const some = (): string => rng.pick(parts);
  const values = new Map(
    sample(NAMES, 3, rng).map((name): [string, string] => [
      name,
      rng.pick([
        `${some()} ${some()}`,
        ` ${some()} `,
        `${some()}  ${some()}`,
        "",
        `${some()} ${some()} ${some()}`,
        some(),
      ]),
    ]),
  );
  const parameters = level < 4 ? [] : [some(), `${some()} ${some()}`, ...(rng.integer(2) === 0 ? [""] : [])];
  const drawPiece = (): Piece => {
    const kind = at(KINDS, rng.integer(kinds));
    const name = rng.pick(NAMES);
    const value = values.get(name) ?? "";
    const quote: Quote = rng.pick(["none", "none", "double", "double", "single"] as const);
    const needed = { text: some(), braces: some() } as const;
    const words = value.trim().split(/ +/u);
    const argument = {
      front: value.startsWith(" ") ? at(parts, 0) : at(words, 0).slice(0, 2),
      back: at(words, words.length - 1).slice(-2),
      default: rng.pick([some(), `${some()} ${some()}`]),
    }[kind as string];
    return {
      kind: kind === "text" && quote === "single" ? "value" : kind,
      quote,
      name: kind === "text" || kind === "braces" ? needed[kind] : name,
      argument: argument ?? some(),
    };
  };
  const words = range(count).map(() => range(1 + rng.integer(most)).map(drawPiece));
  if (words.flat().some(({ argument, kind }) => argument === "" && kind !== "text")) return null;
  const shell: Shell = { values, parameters };
  const output = (splits: boolean, of = words): string[] =>
    of
      .flatMap(unbraced)
      .flatMap((pieces) => fieldsOf(pieces, shell, splits))
      .map((field) => `<${field.replaceAll(" ", "_")}>`);
  const items = output(true);
  const bare = words.map((pieces) =>
    pieces.map((piece): Piece => ({ ...piece, quote: piece.quote === "single" ? "single" : "none" })),
  );
  const misses = [
    output(false),
    output(true, bare),
    words.map((pieces) => fieldsOf(pieces, shell).join("_")).map((one) => `<${one}>`),
  ];
  if (misses.slice(0, 2).some((miss) => miss.join() === items.join()) || items.length < 2 || items.length > 16)
    return null;
  const script = [
    ...[...values].map(([name, value]) => `${name}='${value}'`),
    `unset ${NAMES.filter((name) => !values.has(name)).join(" ")}`,
    ...(parameters.length === 0 ? [] : [`set -- ${parameters.map((one) => `'${one}'`).join(" ")}`]),
    `printf '<%s>\\n' ${words.map((pieces) => pieces.map(pieceText).join("")).join(" ")} | tr ' ' _`,
  ];
  return { problem: { script }, items, misses, effort: words.flat().length + items.length + 2 * level };
}
