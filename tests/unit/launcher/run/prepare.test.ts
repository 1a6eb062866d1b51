/** What is checked before a run starts. */
import { execFileSync } from "node:child_process";
import { closeSync, constants, openSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";

import { configSchemas } from "../../../../ts/config/schema/index.ts";
import { assertUnlocked } from "../../../../ts/files/run-lock.ts";
import { prepareSft } from "../../../../ts/launcher/run/prepare.ts";
import { temporaryFolder, writeRun } from "../../cli/runs/run-fixture.ts";

const MODEL = new URL("../../../../configs/reverse-text/model", import.meta.url).pathname;

test("a signal ends the search for the checkpoint to resume, which reads all of it, and frees the directory", async () => {
  const folder = await temporaryFolder();
  const rows = { "rows.jsonl": [{ prompt: "a", completion: "b" }], "mine/configs/environments.json": [] };
  const place = await writeRun(folder, "runs", rows);
  // Reading a pipe lasts until its writer goes away.
  const pipe = join(place, "mine", "configs", "sft-run.json");
  execFileSync("mkfifo", [pipe]);
  const config = configSchemas.sft.parse({
    model: { name: MODEL },
    max_steps: 1,
    data: { source: join(place, "rows.jsonl") },
    output_dir: place,
    run: { name: "mine" },
  });
  const stop = new AbortController();
  const prepared = prepareSft(config, { resume: "latest", hold: true, signal: stop.signal });
  prepared.catch(() => undefined);
  const writer = await Promise.race([openToReader(pipe), prepared.then(() => expect.fail("it did not wait"))]);
  stop.abort("SIGINT");
  await expect(prepared).rejects.toMatchObject({ code: "PRL_RUN_INTERRUPTED" });
  await assertUnlocked(join(place, "mine"));
  closeSync(writer);
});

test.each([
  [{ kv_cache_bytes: 1 }, {}, "inference.kv_cache_bytes: 1 bytes do not hold one sequence"],
  [
    { replicas: 2, server: { port: 45_677 } },
    {},
    "monitors.prometheus.port: port 45678 is wanted by inference.server.port",
  ],
  [{}, { max_completion_tokens: 128 }, "eval.source.0.sampling.max_completion_tokens: 128 leaves no room for a prompt"],
])("servers for the evaluations of a supervised run are checked before it starts: %j %j", async (...given) => {
  const [inference, sampling, message] = given;
  const place = await writeRun(await temporaryFolder(), "runs", { "rows.jsonl": [{ prompt: "a", completion: "b" }] });
  const config = configSchemas.sft.parse({
    model: { name: MODEL },
    max_steps: 1,
    seq_len: 1024,
    data: { source: join(place, "rows.jsonl") },
    eval: { source: [{ env: { id: "reverse-text" } }], sampling },
    inference,
    monitors: { prometheus: { port: 45_678 } },
    output_dir: place,
  });
  await expect(prepareSft(config)).rejects.toMatchObject({
    code: "PRL_CONFIG_INVALID",
    message: expect.stringMatching(new RegExp(`^${message.replaceAll(".", "\\.")}`)) as string,
  });
});

/** Opens a pipe for writing as soon as somebody reads it. */
async function openToReader(pipe: string): Promise<number> {
  for (let tries = 0; tries < 4_000; tries++) {
    try {
      return openSync(pipe, constants.O_WRONLY | constants.O_NONBLOCK);
    } catch {
      // There is no reader yet.
      await sleep(5);
    }
  }
  throw new Error(`nothing reads ${pipe}`);
}
