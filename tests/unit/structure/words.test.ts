import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { describe, expect, test } from "vitest";

const ROOT = resolve(import.meta.dirname, "../../..");

/** Words that hide the subject of a sentence. Name the process, the caller or the file that does something instead. */
const BANNED = /\b(?:told|telling|by hand|of its own|of one[’']s own|whoever|nobody)\b/iu;

/** Lines that may hold such a word: the file, a part of the line, and the reason. */
const ALLOWED: readonly (readonly [file: string, part: string, reason: string])[] = [
  ["ts/environments/builtin/gsm8k/index.ts", "in a last line of its own", "a prompt; another text gives other replies"],
  ["ts/environments/in-an-afternoon.md", '?? "nobody"', "an answer of the example's tool"],
  ["ts/verify/instructions/english-words.ts", "whoever whomever", "a list of English words"],
  ["ts/verify/instructions/english-words.ts", "everyone everything nobody", "a list of English words"],
  ["native/src/sandbox/request.rs", "sandbox | nobody", "the names of two users"],
  ["native/index.d.ts", "sandbox | nobody", "the names of two users"],
  ["tests/unit/environments/ifbench.test.ts", "She told", "a reply that is checked"],
  ["tests/unit/environments/verify-text.test.ts", "Verdict: nobody knows", "a reply that is checked"],
  ["tests/e2e/bad-input.test.ts", "nobody is at home", "the error of a broken environment"],
  ["tests/e2e/configs/broken.ts", "nobody is at home", "the error of a broken environment"],
  ["tests/unit/structure/words.test.ts", "", "this list"],
];

interface Passage {
  readonly text: string;
  readonly at: number;
}
type Reader = (source: string) => Passage[];

/** Comments and strings of a language with `//`. A string with one word is a name and not a text. */
function commentsAndTexts(pattern: RegExp): Reader {
  return (source) => passages(source, pattern).filter(({ text }) => /^\/[/*]/u.test(text) || /\S\s+\S/u.test(text));
}
function passages(source: string, pattern: RegExp): Passage[] {
  return [...source.matchAll(pattern)].map(({ 0: text, index: at }) => ({ text, at }));
}

const typescript = commentsAndTexts(
  /"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|`(?:\\[\s\S]|\$\{(?:[^{}`]|`[^`]*`|\{[^{}]*\})*\}|\$(?!\{)|[^`\\$])*`|\/\/[^\n]*|\/\*[\s\S]*?\*\//gu,
);
const rust = commentsAndTexts(
  /'(?:\\[^\n']*|[^'\\\n])'|\br#+"[\s\S]*?"#+|"(?:\\[\s\S]|[^"\\])*"|\/\/[^\n]*|\/\*[\s\S]*?\*\//gu,
);
const hashed: Reader = (source) => passages(source, /(?:^|\s)#[^\n]*|"""[\s\S]*?"""/gmu);
const READERS: Readonly<Record<string, Reader>> = {
  ts: typescript,
  mjs: typescript,
  proto: typescript,
  rs: rust,
  py: hashed,
  toml: hashed,
  yaml: hashed,
  md: (source) => [{ text: source, at: 0 }],
};

/** Texts without code: what is between backticks in comments and documents, and the values in a template. */
function withoutCode(text: string): string {
  const code = text.startsWith("`") ? /\$\{(?:[^{}`]|`[^`]*`|\{[^{}]*\})*\}/gu : /`[^`\n]*`/gu;
  return text.replace(code, (part) => " ".repeat(part.length));
}

/** `file:line: text` of each line of a source's comments and texts with a banned word. */
function bannedLines(file: string, source: string): string[] {
  const reader = READERS[file.split(".").at(-1) ?? ""];
  return (reader?.(source) ?? []).flatMap(({ text, at }) => {
    const first = source.slice(0, at).split("\n").length;
    const lines = source.slice(at, at + text.length).split("\n");
    return withoutCode(text)
      .split("\n")
      .flatMap((line, index) =>
        BANNED.test(line) ? [`${file}:${first + index}: ${(lines[index] ?? "").trim()}`] : [],
      );
  });
}

/** Files that are tracked or new, and are read by people. */
function documents(): string[] {
  const list = execFileSync("git", ["ls-files", "--cached", "--others", "--exclude-standard"], {
    cwd: ROOT,
    encoding: "utf8",
  });
  return list
    .split("\n")
    .filter((file) => /^(?:(?:ts|crates|native|tests|benches|configs)\/.*|[^/]*\.md)$/u.test(file))
    .filter((file) => existsSync(join(ROOT, file)));
}

describe("the words of comments, documents and messages", () => {
  const found = documents()
    .flatMap((file) => bannedLines(file, readFileSync(join(ROOT, file), "utf8")))
    .filter((line) => !ALLOWED.some(([file, part]) => line.startsWith(`${file}:`) && line.includes(part)));

  test("say who does what", () => {
    expect(found).toEqual([]);
  });

  test.each([
    ["a.ts", "/** Nobody reads this. */"],
    ["a.ts", "const a = 1; // whoever asks"],
    ["a.ts", "throw new Error(`a process of its own ended: ${reason}`);"],
    ["a.ts", '/"/u.test(a); // made by hand'],
    ["a.rs", "/// The caller is told."],
    ["a.rs", "//! A table of one's own."],
    ["a.rs", "let quote = '\"'; // by hand"],
    ["a.md", "Started by hand."],
    ["a.py", "# whoever measures"],
    ["a.toml", "key = 1 # of its own"],
  ])("a banned word in %s is found: %s", (file, source) => {
    expect(bannedLines(file, source)).toHaveLength(1);
  });

  test.each([
    ["a.ts", "const told = nobody(whoever);"],
    ["a.ts", 'run("nobody"); // the user `nobody`'],
    ["a.ts", "const text = `${told}: done`;"],
    ["a.ts", "const text = `${[`${name} ends`, ...told].join(':')} is done`;"],
    ["a.rs", 'let user = "nobody";'],
    ["a.md", "The user `nobody`."],
  ])("code and names in %s are not texts: %s", (file, source) => {
    expect(bannedLines(file, source)).toEqual([]);
  });
});
