/**
 * Malformed command lines, generated from the options that each command declares: each ends with exit code 2, at once, with a short message that
 * names the option.
 */
import { expect, test } from "vitest";

import type { CommandOption } from "../../../ts/cli/command.ts";
import { FORMS as ENV_FORMS } from "../../../ts/cli/commands/env/forms.ts";
import { FORMS as MODEL_FORMS } from "../../../ts/cli/commands/model/forms.ts";
import { FORMS as WEIGHTS_FORMS } from "../../../ts/cli/commands/weights/forms.ts";
import { CHILD_OPTIONS } from "../../../ts/cli/processes/child.ts";
import { COMMAND_NAMES } from "../../../ts/cli/dispatch.ts";
import type { OptionRule } from "../../../ts/cli/arguments/option-rule.ts";
import { prl } from "./run.ts";

const LONGEST_MESSAGE = 1_000;
const CHILD = ["--config", "none.json", "--run-dir", "none"];
/** Commands that read the options of a child of a run once they have these. */
const CHILDREN = ["trainer", "orchestrator", "inference", "env-server", "sandboxd"];
/** What comes before the options of a command that has several forms. */
const BEFORE: Readonly<Record<string, readonly string[]>> = {
  inference: ["inference", "folder"],
  sandbox: ["sandbox", "run"],
  runs: ["runs", "list"],
  export: ["export", "sft", "run"],
  fleet: ["fleet", "check"],
  slurm: ["slurm", "logs"],
  kubernetes: ["kubernetes", "logs"],
};

function wrongValues(rule: OptionRule | undefined): string[] {
  const long = "9".repeat(5_000);
  switch (rule?.is) {
    case "integer":
      return ["", "x", "1.5", "-1", "1e3", "0x10", " 1", long, ...[rule.least - 1, rule.most + 1].map(String)];
    case "number":
      return ["", "x", "1,5", "NaN", "Infinity", "--1", "x".repeat(5_000)];
    case "host":
      return ["", "a b", "999.1.2.3", "http://a", "a:1", "x".repeat(5_000)];
    case "host:port":
      return ["", "a", "a:", ":1", "a:b", "a:99999", "1.2.3.4.5:1", `${"x".repeat(5_000)}:1`];
    case "url":
      return ["", "a", "ftp://a", "http://", "x".repeat(5_000)];
    default:
      return [""];
  }
}

async function optionsOf(name: string): Promise<CommandOption[]> {
  const { stdout } = await prl([name, "--help", "--json"]);
  return (JSON.parse(stdout) as { options: CommandOption[] }).options;
}

async function isRefused(args: readonly string[], flag: string): Promise<string | null> {
  const { code, stderr, stdout } = await prl(args, "/");
  const isShort = stderr.length < LONGEST_MESSAGE && stdout === "";
  if (code === 2 && stderr.includes(flag) && isShort) return null;
  return `${args.join(" ").slice(0, 120)}: exit ${code}, ${stderr.length} characters: ${stderr.slice(0, 200)}`;
}

async function refusals(before: readonly string[], options: readonly CommandOption[]): Promise<(string | null)[]> {
  const found: (string | null)[] = [await isRefused([...before, `--${"no-such-".repeat(500)}`, "1"], "--no-such")];
  for (const { flag, value, rule } of options) {
    if (["--json", "--help", "--bench"].includes(flag)) continue;
    if (value === undefined) {
      found.push(await isRefused([...before, `${flag}=1`], flag));
      continue;
    }
    found.push(await isRefused([...before, flag], flag));
    for (const text of wrongValues(rule)) found.push(await isRefused([...before, `${flag}=${text}`], flag));
  }
  return found;
}

const PLAIN = COMMAND_NAMES.filter(
  (name) => !["rl", "sft", "eval", "config", "env", "launch", "model", "weights", ...CHILDREN].includes(name),
);

test.each([...PLAIN, "inference"])("prl %s refuses options that are wrong", async (name) => {
  const children = CHILD_OPTIONS.map(({ flag }) => flag);
  const own = (await optionsOf(name)).filter(({ flag }) => !children.includes(flag));
  const ofRun = name === "sandbox" ? own.filter(({ rule }) => rule !== undefined && "most" in rule).slice(0, 6) : own;
  const found = await refusals(BEFORE[name] ?? [name], ofRun);
  expect(found.filter((problem) => problem !== null)).toEqual([]);
});

test.each(CHILDREN)("prl %s, as a process of a run, refuses options that are wrong", async (name) => {
  const found = await refusals([name, ...CHILD], CHILD_OPTIONS);
  expect(found.filter((problem) => problem !== null)).toEqual([]);
});

test.each([
  ...ENV_FORMS.map((form) => ["env", form] as const),
  ...MODEL_FORMS.map((form) => ["model", form] as const),
  ...WEIGHTS_FORMS.map((form) => ["weights", form] as const),
])("prl %s refuses options that are wrong: $1.name", async (command, { name, options }) => {
  const found = await refusals([command, name], options);
  expect(found.filter((problem) => problem !== null)).toEqual([]);
});

test.each([
  ["doctor"],
  ["env", "list"],
  ["check-code"],
  ["sandbox", "doctor"],
  ["runs", "list"],
  ["trainer", ...CHILD],
])("prl %s takes no stray words", async (...args) => {
  const { code, stderr } = await prl([...args, "stray"], "/");
  expect([code, stderr.length < LONGEST_MESSAGE]).toEqual([2, true]);
});
