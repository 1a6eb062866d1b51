/**
 * The texts that people read in a tracked file: comments, messages, and documents. Each reader knows the tokens of its
 * language, and nothing of the rules that the texts are held to.
 */
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { basename, join, resolve } from "node:path";

export const ROOT = resolve(import.meta.dirname, "../../..");

export interface Passage {
  readonly text: string;
  readonly at: number;
}
type Reader = (source: string) => Passage[];

const TYPESCRIPT =
  /"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|`(?:\\[\s\S]|\$\{(?:[^{}`]|`[^`]*`|\{[^{}]*\})*\}|\$(?!\{)|[^`\\$])*`|\/\/[^\n]*|\/\*[\s\S]*?\*\//gu;
const RUST = /'(?:\\[^\n']*|[^'\\\n])'|\br#+"[\s\S]*?"#+|"(?:\\[\s\S]|[^"\\])*"|\/\/[^\n]*|\/\*[\s\S]*?\*\//gu;
const PYTHON = /"""[\s\S]*?"""|'''[\s\S]*?'''|"(?:\\[\s\S]|[^"\\\n])*"|'(?:\\[\s\S]|[^'\\\n])*'|(?<![^\s])#[^\n]*/gu;

/** The tokens of comments and strings, by the ending of a source file. */
const TOKENS: Readonly<Record<string, RegExp>> = {
  ...Object.fromEntries(["ts", "mjs", "cjs", "js", "proto"].map((ending) => [ending, TYPESCRIPT])),
  rs: RUST,
  py: PYTHON,
};

/** Files without code that a name could hide in: every line is a text. */
const DOCUMENTS = /\.(?:md|toml|yaml|yml|sh|in|overrides|dockerignore|gitignore)$|^(?:Containerfile.*|run)$/u;

/** Files of data, which other programs wrote, and the licence. */
const DATA =
  /\.(?:json|jsonl|csv|svg|lock|txt|parquet|safetensors)$|^LICENSE$|^(?:crates|tests)\/fuzz\/corpus\/|^native\/index\.js$/u;

export const isData = (file: string): boolean => DATA.test(file);

/** Comments, and strings of more than one word. A string with one word is a name and not a text. */
const commentsAndTexts =
  (pattern: RegExp): Reader =>
  (source) =>
    [...source.matchAll(pattern)]
      .map(({ 0: text, index: at }) => ({ text, at }))
      .filter(({ text }) => /^(?:\/[/*]|#)/u.test(text) || /\S\s+\S/u.test(text));

const ending = (file: string): string => file.split(".").at(-1) ?? "";

/** The reader of a file; `undefined` when no language is known for its name. */
export function readerOf(file: string): Reader | undefined {
  const tokens = TOKENS[ending(file)];
  if (tokens !== undefined) return commentsAndTexts(tokens);
  return DOCUMENTS.test(basename(file)) ? (source) => [{ text: source, at: 0 }] : undefined;
}

/** The code of a source with blanks in place of comments and strings; empty for a document. */
export function codeOf(file: string, source: string): string {
  const tokens = TOKENS[ending(file)];
  return tokens === undefined ? "" : source.replace(tokens, (text) => text.replace(/[^\n]/gu, " "));
}

/** Files that are tracked or new, without data. */
export function textFiles(): string[] {
  const list = execFileSync("git", ["ls-files", "--cached", "--others", "--exclude-standard"], {
    cwd: ROOT,
    encoding: "utf8",
    maxBuffer: 16 << 20,
  });
  return list.split("\n").filter((file) => file !== "" && !isData(file) && existsSync(join(ROOT, file)));
}
