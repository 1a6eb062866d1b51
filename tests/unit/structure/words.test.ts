import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { describe, expect, test } from "vitest";

const ROOT = resolve(import.meta.dirname, "../../..");

type Allowance = readonly [file: string, part: string, reason: string];

/** Words that hide the subject of a sentence. Name the process, the caller or the file that does something instead. */
const BANNED = /\b(?:told|telling|by hand|of its own|of one[’']s own|whoever|nobody)\b/iu;

/** Words that are no names in code: the field and the glossary of ARCHITECTURE.md have a word for each thing. */
const BANNED_NAMES = /\b(?:told|untold|telling|asking|lessons?|worth|shop|byHand|BY_HAND\w*|nobody|whoever)\b/u;

/** Lines that may hold such a name: the file, a part of the line, and the reason. */
const ALLOWED_NAMES: readonly Allowance[] = [
  ["ts/orchestrator/checkpoint/resume.ts", "worth: averagesSchema", "a key of saved checkpoints"],
  ["ts/orchestrator/checkpoint/run-state.ts", "baselines,", "a key of saved checkpoints"],
  ["ts/orchestrator/orchestrator-parts.ts", "baselines: resume", "a key of saved checkpoints"],
  ["tests/unit/structure/words.test.ts", "", "this list"],
];

/** Lines that may hold such a word: the file, a part of the line, and the reason. */
const ALLOWED: readonly Allowance[] = [
  ["ts/environments/builtin/gsm8k/index.ts", "in a last line of its own", "a prompt; another text gives other replies"],
  ["ts/environments/in-an-afternoon.md", '?? "nobody"', "an answer of the example's tool"],
  ["ts/verify/instructions/english-words.ts", "whoever whomever", "a list of English words"],
  ["ts/verify/instructions/english-words.ts", "everyone everything nobody", "a list of English words"],
  ["native/src/sandbox/request.rs", "sandbox | nobody", "the names of two users"],
  ["native/index.d.ts", "sandbox | nobody", "the names of two users"],
  ["tests/unit/verify/ifbench.test.ts", "She told", "a reply that is checked"],
  ["tests/unit/verify/verify-text.test.ts", "Verdict: nobody knows", "a reply that is checked"],
  ["tests/e2e/failures/bad-input.test.ts", "nobody is at home", "the error of a broken environment"],
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

const TYPESCRIPT_TOKENS =
  /"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|`(?:\\[\s\S]|\$\{(?:[^{}`]|`[^`]*`|\{[^{}]*\})*\}|\$(?!\{)|[^`\\$])*`|\/\/[^\n]*|\/\*[\s\S]*?\*\//gu;
const typescript = commentsAndTexts(TYPESCRIPT_TOKENS);
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

/** `file:line: text` of each line of a TypeScript source whose code, without comments and texts, has a banned name. */
function linesWithBannedNames(file: string, source: string): string[] {
  const blank = (text: string) => text.replace(/[^\n]/gu, " ");
  const code = source.replace(TYPESCRIPT_TOKENS, blank).split("\n");
  const lines = source.split("\n");
  return code.flatMap((line, index) =>
    BANNED_NAMES.test(line) ? [`${file}:${index + 1}: ${(lines[index] ?? "").trim()}`] : [],
  );
}

/** Titles of tests: the first text of `test(...)`, `it(...)` and `describe(...)`, also of `test.each(...)(...)`. */
function titlesOf(source: string): string[] {
  const calls = source.matchAll(
    /^\s*(?:\](?:\s*as const)?\)|(?:test|it|describe)\b[^("`\n]*(?:\([^\n]*\))?)\(("(?:\\.|[^"\\\n])*"|`[^`]*`),/gmu,
  );
  return [...calls].map(([, title = ""]) => title.slice(1, -1));
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

const isAllowed = (line: string, allowed: readonly Allowance[]): boolean =>
  allowed.some(([file, part]) => line.startsWith(`${file}:`) && line.includes(part));

describe("the words of comments, documents and messages", () => {
  const found = documents()
    .flatMap((file) => bannedLines(file, readFileSync(join(ROOT, file), "utf8")))
    .filter((line) => !isAllowed(line, ALLOWED));

  test("say who does what", () => {
    expect(found).toEqual([]);
  });

  test("are not names in TypeScript either", () => {
    const sources = documents().filter((file) => /^(?:ts|tests)\/.*\.ts$/u.test(file));
    const lines = sources.flatMap((file) => linesWithBannedNames(file, readFileSync(join(ROOT, file), "utf8")));
    expect(lines.filter((line) => !isAllowed(line, ALLOWED_NAMES))).toEqual([]);
  });

  test("a title of a test names a behaviour, and does not begin with what", () => {
    const tests = documents().filter((file) => file.endsWith(".test.ts"));
    const titles = tests.flatMap((file) =>
      titlesOf(readFileSync(join(ROOT, file), "utf8")).map((title) => `${file}: ${title}`),
    );
    expect(titles.length).toBeGreaterThan(1500);
    expect(titles.filter((title) => /: what\b/iu.test(title))).toEqual([]);
  });

  test("a banned name in code is found, and one in a text or comment is not", () => {
    expect(linesWithBannedNames("a.ts", "const told = 1;")).toEqual(["a.ts:1: const told = 1;"]);
    expect(linesWithBannedNames("a.ts", 'run("told"); // worth it')).toEqual([]);
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
