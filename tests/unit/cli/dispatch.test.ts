import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { COMMAND_NAMES } from "../../../ts/cli/dispatch.ts";
import { prl } from "./run.ts";

const VERSION = (JSON.parse(readFileSync("package.json", "utf8")) as { version: string }).version;

describe("prl", () => {
  test("--help lists the commands, those started by the launcher apart", async () => {
    const { code, stdout } = await prl(["--help"]);
    expect(code).toBe(0);
    for (const name of ["rl", "sft", "config", "doctor", "inference"])
      expect(stdout).toMatch(new RegExp(`^  ${name} +\\w`, "m"));
    expect(stdout).not.toContain("env-worker");
  });

  test("without a command prints the same on stderr and exits with 2", async () => {
    const { code, stdout, stderr } = await prl([]);
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toContain("Usage: prl <command>");
  });

  test("--version prints the versions, as JSON too", async () => {
    expect((await prl(["--version"])).stdout).toMatch(new RegExp(`^prl ${VERSION}\n`));
    const { stdout } = await prl(["--version", "--json"]);
    expect(JSON.parse(stdout)).toMatchObject({ version: VERSION, node: process.versions.node });
  });

  test("an unknown command exits with 2 and names the nearest", async () => {
    const { code, stdout, stderr } = await prl(["cofnig"]);
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toBe('prl: [PRL_CLI_USAGE] there is no command "cofnig"; did you mean "prl config"?\n');
  });

  test("with --json an error is a JSON document as well", async () => {
    const { code, stdout } = await prl(["--json", "cofnig"]);
    expect(code).toBe(2);
    expect(JSON.parse(stdout)).toEqual({
      error: { code: "PRL_CLI_USAGE", message: expect.stringContaining("prl config") },
    });
  });

  test("prints a stack only with PRL_DEBUG=1", async () => {
    expect((await prl(["cofnig"])).stderr).not.toMatch(/dispatch\.[jt]s/u);
    expect((await prl(["cofnig"], ".", { PRL_DEBUG: "1" })).stderr).toMatch(/dispatch\.[jt]s/u);
  });

  test("refuses an environment variable that it does not know, except for help", async () => {
    const { code, stderr } = await prl(["doctor"], ".", { PRL_CASHE_DIR: "x" });
    expect(code).toBe(2);
    expect(stderr).toContain("did you mean PRL_CACHE_DIR?");
    expect((await prl(["doctor", "--help"], ".", { PRL_CASHE_DIR: "x" })).code).toBe(0);
  });

  test.each(COMMAND_NAMES.map((name) => [name]))("%s has help with its usage and options", async (name) => {
    const { code, stdout } = await prl([name, "--help"]);
    expect(code).toBe(0);
    expect(stdout).toMatch(new RegExp(`^prl ${name}: `));
    expect(stdout).toMatch(new RegExp(`^Usage: prl ${name}`, "m"));
    expect(stdout).toContain("--json");
  });

  test("the usage in the help of each command begins each form with prl and its name", async () => {
    const forms: [string, string[]][] = [];
    for (const name of COMMAND_NAMES) {
      const { stdout } = await prl([name, "--help"]);
      const usage = /^Usage: ([^\n]*(?:\n(?! *$)[^\n]*)*)/mu.exec(stdout)?.[1] ?? "";
      const lines = usage.split("\n").map((line) => line.trim());
      forms.push([name, lines.filter((line) => !line.startsWith(`prl ${name}`))]);
    }
    expect(forms.filter(([, wrong]) => wrong.length > 0)).toEqual([]);
  });

  test.each(["weights", "sandbox"])("%s names the form that was most likely meant", async (name) => {
    const { code, stderr } = await prl([name, name === "weights" ? "pulish" : "serv"]);
    expect(code).toBe(2);
    expect(stderr).toContain(`did you mean "prl ${name} ${name === "weights" ? "publish" : "serve"}"?`);
  });

  test.each(["rl", "sft"])("%s --help documents each key with its type and default", async (name) => {
    const { stdout } = await prl([name, "--help"]);
    expect(stdout).toMatch(/^ {2}seed = 0 \(integer\) +Seed of all random numbers/m);
    expect(stdout).toMatch(name === "rl" ? /^\[trainer\.optim\]/m : /^\[optim\]/m);
    expect(stdout).toMatch(/^ {2}lr = 0\.000001 \(number\) +Peak learning rate/m);
    if (name === "rl") expect(stdout).toMatch(/^\[\[orchestrator\.train\.source\]\]/m);
    const { keys } = JSON.parse((await prl([name, "--help", "--json"])).stdout) as { keys: { key: string }[] };
    expect(keys.map(({ key }) => key)).toContain(name === "rl" ? "trainer.optim.lr" : "optim.lr");
    expect(keys.every(({ key }) => stdout.includes(key.split(".").at(-1) ?? "?"))).toBe(true);
  });
});
