/** The command lines of the documents can be typed: commands with their forms and options, npm scripts, benches, crates, files. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { describe, expect, test } from "vitest";
import { COMMAND_NAMES } from "../../ts/cli/dispatch.ts";
import { describeKeys } from "../../ts/config/index.ts";
import { prl } from "./cli/run.ts";

const ROOT = resolve(import.meta.dirname, "../..");
const FOLDERS = ["benches", "configs", "crates", "native", "tests", "ts"];

interface CommandLine {
  readonly document: string;
  readonly words: readonly string[];
}

function documents(): string[] {
  const below = FOLDERS.flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" }).map((path) => join(folder, path)),
  );
  return [...readdirSync(ROOT), ...below].filter((path) => path.endsWith(".md") && !path.includes("node_modules"));
}

/** What is between backticks, and the lines of code blocks that a shell reads. */
function codeOf(text: string): string[] {
  const blocks = [...text.matchAll(/^```(?:sh|bash)?\n([\s\S]*?)^```/gmu)].flatMap(([, block = ""]) =>
    block.split("\n"),
  );
  const prose = text.replaceAll(/^```[\s\S]*?^```/gmu, "");
  return [...blocks, ...[...prose.matchAll(/`([^`\n]+)`/gu)].map(([, span = ""]) => span)];
}

/** Words in front of a program: `npx`, a choice of cores, variables. */
const PREFIX = /^(?:npx (?=prl\b)|taskset -c \S+ |[A-Z_]+=\S+ )+/u;

/** The commands of a line that begin with `program`, without comments; a shell's `&&` separates two. */
function commandsOf(program: string): CommandLine[] {
  return documents().flatMap((document) =>
    codeOf(readFileSync(join(ROOT, document), "utf8"))
      .flatMap((code) => code.replace(/\s+#.*$/u, "").split("&&"))
      .map((code) => code.trim().replace(PREFIX, "").split(/\s+/u))
      .filter(([first, second]) => first === program && second !== undefined)
      .map((words) => ({ document, words })),
  );
}

const shown = ({ document, words }: CommandLine): string => `${document}: ${words.join(" ")}`;

/** `--flag` and `-f` in a text; in a command line only those before a bare `--`, which are the command's. */
function flagsIn(words: readonly string[]): string[] {
  const end = words.indexOf("--");
  return (end < 0 ? words : words.slice(0, end)).flatMap(
    (word) => /^\[?(--?[A-Za-z][\w.-]*)/u.exec(word)?.[1]?.replaceAll("_", "-") ?? [],
  );
}

const CONFIG_FLAGS = new Set(
  (["rl", "sft", "eval"] as const).flatMap((kind) =>
    describeKeys(kind).map(({ key }) => `--${key.replaceAll("_", "-")}`),
  ),
);

/** Words after the command's name in its usage: `list` and `show` of `prl runs`. Null when other words may stand there. */
function formsOf(name: string, help: string): Set<string> | null {
  const usage = /Usage: ([\s\S]*?)\n\n/u.exec(help)?.[1] ?? "";
  const heads = usage.split("\n").map((line) => new RegExp(`prl ${name} ([a-z-]+)(?= |$)`, "u").exec(line)?.[1]);
  return heads.every((head) => head !== undefined) ? new Set(heads) : null;
}

const helps = new Map<string, Promise<string>>();
function helpOf(name: string): Promise<string> {
  const help = helps.get(name) ?? prl([name, "--help"]).then(({ stdout }) => stdout);
  helps.set(name, help);
  return help;
}

/** What cannot be typed in a command line of prl; null when all of it can. */
async function wrongIn({ words: [, name = "", ...rest] }: CommandLine): Promise<string | null> {
  if (/^[<[]|^--(?:help|version)$/u.test(name)) return null;
  if (!COMMAND_NAMES.includes(name)) return `there is no command ${name}`;
  const help = await helpOf(name);
  const forms = formsOf(name, help);
  const [form] = rest;
  if (forms !== null && form !== undefined && /^[a-z]/u.test(form)) {
    const wrong = form
      .replace(/,$/u, "")
      .split("|")
      .find((one) => !forms.has(one));
    if (wrong !== undefined) return `prl ${name} has no ${wrong}`;
  }
  const known = new Set([...help.matchAll(/(?<![\w-])--?[A-Za-z][\w.-]*/gu)].map(([flag]) => flag));
  const takesConfig = help.includes("--key value");
  const isKnown = (flag: string): boolean =>
    known.has(flag) || (takesConfig && CONFIG_FLAGS.has(flag.replace(/^--no-/u, "--")));
  const strange = flagsIn(rest).find((flag) => flag !== "--key" && !isKnown(flag));
  if (strange !== undefined) return `prl ${name} has no ${strange}`;
  const file = rest.find((word) => /^configs\/.*\.(?:toml|ts|mjs)$/u.test(word) && !existsSync(join(ROOT, word)));
  return file === undefined ? null : `there is no file ${file}`;
}

describe("command lines of the documents", () => {
  test("name commands, forms, options and files of prl that exist", async () => {
    const lines = commandsOf("prl");
    expect(lines.length).toBeGreaterThan(100);
    const wrong: string[] = [];
    for (const line of lines) {
      const problem = await wrongIn(line);
      if (problem !== null) wrong.push(`${shown(line)}: ${problem}`);
    }
    expect(wrong).toEqual([]);
  });

  test("name scripts of npm and benches that exist", () => {
    const { scripts } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as {
      scripts: Record<string, string>;
    };
    const benches = readdirSync(join(ROOT, "benches"), { recursive: true, encoding: "utf8" }).map(
      (file) => /^(?:.*\/)?([^/]+?)(?:\.long)?\.bench\.mjs$/u.exec(file)?.[1],
    );
    const lines = commandsOf("npm");
    expect(lines.length).toBeGreaterThan(20);
    const wrong = lines.filter(({ words: [, command = "", script = "", ...names] }) => {
      if (command !== "run") return !["install", "test", "pack", "publish"].includes(command);
      const own = names.findIndex((name) => name.startsWith("-"));
      const named = script === "bench" ? names.slice(0, own < 0 ? names.length : own) : [];
      return !Object.hasOwn(scripts, script) || named.some((name) => !benches.includes(name));
    });
    expect(wrong.map(shown)).toEqual([]);
  });

  test("name crates and benches of cargo that exist", () => {
    const crates = new Map(
      readdirSync(join(ROOT, "crates")).map((folder) => {
        const manifest = readFileSync(join(ROOT, "crates", folder, "Cargo.toml"), "utf8");
        return [/^name = "([^"]+)"/mu.exec(manifest)?.[1] ?? folder, manifest];
      }),
    );
    const lines = commandsOf("cargo");
    expect(lines.length).toBeGreaterThan(5);
    const wrong = lines.filter(({ words }) => {
      const after = (flag: string): string | undefined => words[words.indexOf(flag) + 1];
      const manifest = words.includes("-p") ? crates.get(after("-p") ?? "") : [...crates.values()].join("\n");
      if (manifest === undefined || !["bench", "test", "build", "nextest"].includes(words[1] ?? "")) return true;
      if (words.includes("--bench")) return !manifest.includes(`[[bench]]\nname = "${after("--bench")}"`);
      return words[1] === "bench" && !manifest.includes("[[bench]]");
    });
    expect(wrong.map(shown)).toEqual([]);
  });
});
