/** The run that evaluates a supervised one: what the config of `prl sft` may have, and how its mistakes are named. */
import { describe, expect, test } from "vitest";

import { evaluationRun, loadConfig } from "../../../../ts/config/index.ts";
import { folderWith, prlErrorOf } from "../support.ts";

const SFT_TOML = `max_steps = 10
seq_len = 64

[model]
name = "./model"

[model.lora]
dropout = 0.1

[data]
env = { id = "reverse-text" }

[[eval.source]]
env = { id = "reverse-text" }
`;

const load = (text: string) =>
  loadConfig(["sft.toml"], [], { kind: "sft", env: {}, cwd: folderWith({ "sft.toml": text }) });

describe("the evaluations of a supervised run", () => {
  test("an adapter may be trained with dropout, of which the servers have none", async () => {
    const { config } = await load(SFT_TOML);
    expect(config.model.lora?.dropout).toBe(0.1);
    expect(evaluationRun(config)?.model.lora).toEqual({ ...config.model.lora, dropout: 0 });
  });

  test("a source may have any name that a source of prl rl may have", async () => {
    const { config } = await load(`${SFT_TOML}name = "all"\n`);
    expect(evaluationRun(config)?.orchestrator.eval?.source.map(({ name }) => name)).toEqual(["all"]);
  });

  test.each([
    [`${SFT_TOML}\n[inference]\nbackend = "vllm"\n`, 'inference.vllm.adapter: "merged" needs'],
    [`${SFT_TOML}\n[inference]\nvllm.enforce_eager = true\n`, "sft.toml:17: inference.vllm.enforce_eager: is not read"],
    [
      `${SFT_TOML}\n[inference]\nreplicas = 2\nserver.port = 65535\n`,
      "sft.toml:18: inference.server.port: 2 replicas from port 65535 on need ports above 65535",
    ],
    [
      `${SFT_TOML}\n[[eval.source]]\nenv = { id = "reverse-text" }\n`,
      'sft.toml:16: eval.source.1.name: "reverse-text" is already the name of eval.source.0',
    ],
    [
      `${SFT_TOML}\n[eval.sampling]\nmax_completion_tokens = 64\n`,
      "sft.toml:17: eval.sampling.max_completion_tokens: 64 leaves no room for a prompt",
    ],
  ])("a setting that they cannot have is a mistake of the config, once, by its key", async (text, message) => {
    const error = await prlErrorOf(load(text));
    expect(error.code).toBe("PRL_CONFIG_INVALID");
    expect(error.message).toContain(message);
    expect(error.message).not.toContain("problems in the config");
  });
});
