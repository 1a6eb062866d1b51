import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { loadConfig } from "../../../ts/config/index.ts";
import { folderWith, RL_TOML } from "../config/support.ts";
import { prl } from "./run.ts";

describe("prl config", () => {
  test("schema prints JSON Schema of either kind", async () => {
    const rl = await prl(["config", "schema"]);
    expect(rl.code).toBe(0);
    expect(JSON.parse(rl.stdout)).toMatchObject({ properties: { orchestrator: { type: "object" } } });
    expect(JSON.parse((await prl(["config", "schema", "sft"])).stdout)).toMatchObject({
      properties: { data: { type: "object" } },
    });
    expect((await prl(["config", "schema", "slf"])).code).toBe(2);
  });

  test("resolve prints what loadConfig gives", async () => {
    const cwd = folderWith({ "rl.toml": RL_TOML });
    const { code, stdout } = await prl(["config", "resolve", "rl.toml", "--seed", "4"], cwd, {
      PRL_LOG__LEVEL: "debug",
    });
    expect(code).toBe(0);
    const overrides = { seed: 4, "log.level": "debug" };
    const { config } = await loadConfig(["rl.toml"], overrides, { kind: "rl", env: {}, cwd });
    expect(JSON.parse(stdout)).toEqual(config);
  });

  test("show prints TOML that says where each value came from and loads to the same config", async () => {
    const cwd = folderWith({ "rl.toml": `${RL_TOML}[[orchestrator.eval.source]]\nenv.id = "x"\n` });
    const { stdout } = await prl(["config", "show", "@", "rl.toml", "--seed", "4"], cwd);
    expect(stdout).toMatch(/^max_steps = 30 +# rl\.toml:1$/m);
    expect(stdout).toMatch(/^seed = 4 +# command line, --seed$/m);
    expect(stdout).toMatch(/^clean = false +# default$/m);
    writeFileSync(join(cwd, "shown.toml"), stdout);
    const options = { kind: "rl", env: {}, cwd } as const;
    const again = await loadConfig(["shown.toml"], [], options);
    expect(again.config).toEqual((await loadConfig(["rl.toml"], ["--seed", "4"], options)).config);
  });

  test("a file whose name begins with sft is of that kind, and the kind can be named", async () => {
    const sft = `max_steps = 3\n[model]\nname = "m"\n[data.env]\nid = "x"\n`;
    const cwd = folderWith({ "sft.toml": sft, "warm.toml": sft });
    expect(JSON.parse((await prl(["config", "show", "sft.toml", "--json"], cwd)).stdout)).toMatchObject({
      max_steps: 3,
    });
    expect((await prl(["config", "show", "sft", "warm.toml"], cwd)).code).toBe(0);
    expect((await prl(["config", "show", "warm.toml"], cwd)).code).toBe(2);
  });

  test("a wrong file exits with 2 and one message with file, line, key and the nearest valid key", async () => {
    const cwd = folderWith({ "rl.toml": RL_TOML.replace("batch_size", "batch_sise") });
    const { code, stdout, stderr } = await prl(["config", "resolve", "rl.toml"], cwd);
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toBe(
      'prl: [PRL_CONFIG_INVALID] rl.toml:8: orchestrator.batch_sise: unknown key; did you mean "batch_size"?\n',
    );
  });

  test.each([[["config"]], [["config", "shwo"]], [["config", "show"]], [["config", "show", "a.toml", "--bogus"]]])(
    "%j is a usage error",
    async (args) => {
      expect((await prl(args)).code).toBe(2);
    },
  );
});
