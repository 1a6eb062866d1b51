import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { codeOf, readerOf, ROOT, textFiles } from "./passages.ts";

type Allowance = readonly [file: string, part: string, reason: string];

/** Words that hide the subject of a sentence. Name the process, the caller or the file that does something instead. */
const BANNED = /\b(?:told|telling|by hand|of its own|of one[’']s own|whoever|nobody)\b/iu;

/** Words that are no names in code: the field and the glossary of ARCHITECTURE.md have a word for each thing. */
const BANNED_NAMES = /\b(?:told|untold|telling|asking|lessons?|worth|shop|byHand|BY_HAND\w*|nobody|whoever)\b/u;

const CODE = /\.(?:ts|mjs|cjs|js|py|rs|proto)$/u;
const MOST_FRAGMENTS = 543;

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
  ["tests/fixtures/make/benchmarks/ifbench.py", "She told", "a reply that is checked"],
  ["tests/unit/verify/verify-text.test.ts", "Verdict: nobody knows", "a reply that is checked"],
  ["tests/e2e/failures/bad-input.test.ts", "nobody is at home", "the error of a broken environment"],
  ["tests/e2e/configs/broken.ts", "nobody is at home", "the error of a broken environment"],
  ["tests/unit/structure/words.test.ts", "", "this list"],
];

/** Texts without code: what is between backticks in comments and documents, and the values in a template. */
function withoutCode(text: string): string {
  const code = text.startsWith("`") ? /\$\{(?:[^{}`]|`[^`]*`|\{[^{}]*\})*\}/gu : /`[^`\n]*`/gu;
  return text.replace(code, (part) => " ".repeat(part.length));
}

/** `file:line: text` of each line of a source's comments and texts with a banned word. */
function bannedLines(file: string, source: string): string[] {
  return (readerOf(file)?.(source) ?? []).flatMap(({ text, at }) => {
    const first = source.slice(0, at).split("\n").length;
    const lines = source.slice(at, at + text.length).split("\n");
    return withoutCode(text)
      .split("\n")
      .flatMap((line, index) =>
        BANNED.test(line) ? [`${file}:${first + index}: ${(lines[index] ?? "").trim()}`] : [],
      );
  });
}

/** `file:line: text` of each line of a source whose code, without comments and texts, has a banned name. */
function linesWithBannedNames(file: string, source: string): string[] {
  const lines = source.split("\n");
  return codeOf(file, source)
    .split("\n")
    .flatMap((line, index) =>
      BANNED_NAMES.test(line) ? [`${file}:${index + 1}: ${(lines[index] ?? "").trim()}`] : [],
    );
}

/** `file:line: text` of each comment that begins with a clause in place of a sentence. */
function fragments(file: string, source: string): string[] {
  let endOfLast = -1;
  return (readerOf(file)?.(source) ?? []).flatMap(({ text, at }) => {
    const [, mark] = /^(\/\*\*?|\/\/[/!]?|#|""")/u.exec(text.trimStart()) ?? [];
    if (mark === undefined) return [];
    const line = source.slice(0, at + text.length - text.trimStart().length).split("\n").length;
    const goesOn = /^[/#]/u.test(mark) && mark !== "/**" && mark !== "/*" && line === endOfLast + 1;
    endOfLast = line + text.trim().split("\n").length - 1;
    const words = text
      .trimStart()
      .slice(mark.length)
      .replace(/^[\s*]+/u, "");
    return !goesOn && /^(?:What|Of)\b/u.test(words) ? [`${file}:${line}: ${words.split("\n")[0] ?? ""}`] : [];
  });
}

/** Titles of tests: the first text of `test(...)`, `it(...)` and `describe(...)`, also of `test.each(...)(...)`. */
function titlesOf(source: string): string[] {
  const calls = source.matchAll(
    /^\s*(?:\](?:\s*as const)?\)|(?:test|it|describe)\b[^("`\n]*(?:\([^\n]*\))?)\(("(?:\\.|[^"\\\n])*"|`[^`]*`),/gmu,
  );
  return [...calls].map(([, title = ""]) => title.slice(1, -1));
}

const FILES: ReadonlyMap<string, string> = new Map(
  textFiles().map((file) => [file, readFileSync(join(ROOT, file), "utf8")]),
);

/** The lines that a rule finds in the files of a kind, without those that are allowed. */
function linesOf(
  kind: RegExp,
  rule: (file: string, source: string) => string[],
  allowed: readonly Allowance[],
): string[] {
  return [...FILES]
    .filter(([file]) => kind.test(file))
    .flatMap(([file, source]) => rule(file, source))
    .filter((line) => !isAllowed(line, allowed));
}

const isAllowed = (line: string, allowed: readonly Allowance[]): boolean =>
  allowed.some(([file, part]) => line.startsWith(`${file}:`) && line.includes(part));

describe("the words of comments, documents and messages", () => {
  test("say who does what", () => {
    expect(linesOf(/./u, bannedLines, ALLOWED)).toEqual([]);
  });

  test("are not names in code either", () => {
    expect(linesOf(/\.(?:ts|mjs|cjs|js|py)$/u, linesWithBannedNames, ALLOWED_NAMES)).toEqual([]);
  });

  test("every file is read, or is data", () => {
    expect([...FILES.keys()].filter((file) => readerOf(file) === undefined)).toEqual([]);
    expect(FILES.size).toBeGreaterThan(3000);
  });

  test(`at most ${MOST_FRAGMENTS} comments begin with "What" or "Of"`, () => {
    // The number may only fall: rewrite such a comment with a subject and a verb, and lower it.
    expect(linesOf(CODE, fragments, []).length).toBeLessThanOrEqual(MOST_FRAGMENTS);
  });

  test.each([
    ["a.ts", "/** What a plan assumes. */"],
    ["a.ts", "/**\n * What a plan assumes.\n */"],
    ["a.ts", "// Of the trainer."],
    ["a.rs", "/// What a batch holds."],
    ["a.rs", "//! Of a step:\n//! all of it."],
    ["a.py", '"""What a step costs."""'],
    ["a.py", "# Of the moments."],
  ])("a comment of %s that begins so is found: %s", (file, source) => {
    expect(fragments(file, source)).toHaveLength(1);
  });

  test.each([
    ["a.ts", "// A plan needs\n// What a config says."],
    ["a.ts", 'say("What is this?");'],
    ["a.ts", "/** Offers. */"],
    ["a.py", "# A step keeps\n# Of each moment a part."],
  ])("the middle of a comment and a text of %s are no beginnings: %s", (file, source) => {
    expect(fragments(file, source)).toEqual([]);
  });

  test("a title of a test names a behaviour, and does not begin with what", () => {
    const titles = [...FILES]
      .filter(([file]) => file.endsWith(".test.ts"))
      .flatMap(([file, source]) => titlesOf(source).map((title) => `${file}: ${title}`));
    expect(titles.length).toBeGreaterThan(1500);
    expect(titles.filter((title) => /: what\b/iu.test(title))).toEqual([]);
  });

  test("a banned name in code is found, and one in a text or comment is not", () => {
    expect(linesWithBannedNames("a.ts", "const told = 1;")).toEqual(["a.ts:1: const told = 1;"]);
    expect(linesWithBannedNames("a.py", "told = 1")).toHaveLength(1);
    expect(linesWithBannedNames("a.ts", 'run("told"); // worth it')).toEqual([]);
    expect(linesWithBannedNames("a.py", "run('told')  # worth it")).toEqual([]);
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
    ["a.py", 'fail("nobody answers")'],
    ["a.yml", "description: nobody answers"],
    ["a.cjs", "// whoever calls"],
    ["a.sh", "echo 'the caller is told'"],
    ["deploy/Containerfile.run", "# Built by hand."],
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
