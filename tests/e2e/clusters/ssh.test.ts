/** Runs over ssh on two hosts, which are two sshd on loopback: to the end, refused, killed, stopped. */
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { missingSsh, type SshHosts, sshHosts } from "../../support/clusters/ssh-hosts.ts";
import { type Finished, prl, readJson, workspace } from "../../support/prl.ts";
import { runResult } from "../../support/run-result.ts";

const SYNC = join(import.meta.dirname, "../configs/sync.toml");
const STEPS = 4;
const isMissing = missingSsh.length > 0;
const HEAD = { a: ["trainer", "orchestrator"], b: ["inference"] } as const;

describe.skipIf(isMissing)(`two hosts over ssh${isMissing ? ` (not installed: ${missingSsh.join(", ")})` : ""}`, () => {
  let place: Awaited<ReturnType<typeof workspace>>;
  let hosts: SshHosts;
  beforeEach(async () => {
    place = await workspace();
    hosts = await sshHosts(place.cache);
  });
  afterEach(async () => {
    await hosts.stop();
    await place.remove();
  });

  const runDir = (name: string) => join(place.dir, "outputs", name);
  const run = (...args: string[]): Promise<Finished> => prl(args, { cwd: place.dir, cache: place.cache });
  const args = (name: string, steps = STEPS) =>
    [SYNC, "--run.name", name, "--max-steps", String(steps), "--orchestrator.eval", "None"].concat([
      "--warm-start",
      "None",
      "--ckpt.recovery_interval",
      "1",
    ]);

  test("a run on two hosts comes to what prl rl comes to, and its logs and metrics come back", async () => {
    expect((await run("rl", ...args("local"))).code).toBe(0);
    const file = await hosts.file(HEAD);
    const { code, stdout, stderr } = await run("launch", "ssh", file, ...args("far"));
    expect({ code, stderr, stdout }).toMatchObject({ code: 0, stderr: "" });
    expect(await runResult(hosts.runDir("a", "far"), STEPS)).toEqual(await runResult(runDir("local"), STEPS));
    expect(await readJson(join(runDir("far"), "summary.json"))).toMatchObject({ status: "completed", steps: STEPS });
    expect(await hosts.processes()).toEqual([]);
  });
});
