/** Saved episodes are read back whatever their texts hold. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";

import type { Episode } from "../../../ts/environments/index.ts";
import { keepScored, TracesFile } from "../../../ts/environments/records.ts";
import { compareRuns, exportSft, findContamination } from "../../../ts/evals/index.ts";

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "prl-traces-"));
});
afterEach(() => rmSync(dir, { recursive: true }));

/** Characters that end a line for some readers, and not in JSON. */
const ODD = "one\u2028two\u2029three\u0085four\u000bfive";

function episode(id: string, content: string): Episode {
  const messages = [
    { role: "user", content },
    { role: "assistant", content },
  ] as const;
  const trace: Episode["traces"][number] = {
    id: "t",
    agent: "agent",
    trainable: true,
    nodes: messages.map((message, at) => ({ parent: at === 0 ? null : 0, message, sampled: at === 1 })),
    asked: { is_text: false },
    rewards: { main: { score: 1, weight: 1 } },
    reward: 1,
    metrics: {},
    stop_condition: "agent_completed",
    is_completed: true,
    is_truncated: false,
    usage: { prompt_tokens: 3, completion_tokens: 4 },
    timing: { start: 0, generation_ms: 1, scoring_ms: 1, total_ms: 2 },
    policy: null,
  };
  return {
    id,
    env: { id: "env", name: "e" },
    task: { key: id, hash: id, data: {} },
    group: { id: "g" },
    run: { type: "eval", step: 0 },
    ok: true,
    errors: [],
    traces: [trace],
  };
}

test("an episode with separators of lines in its texts is one line for every reader", async () => {
  const path = join(dir, "traces.jsonl");
  writeFileSync(path, ["a", "b"].map((id) => `${JSON.stringify(episode(id, `${ODD} ${id}`))}\n`).join(""));
  expect((await compareRuns(dir, dir))[0]).toMatchObject({ tasks: 2, a: 1, b: 1 });
  expect(await exportSft(dir, join(dir, "rows.jsonl"))).toMatchObject({ rows: 2, leftOut: {} });
  expect((await findContamination(dir, dir))[0]?.tasks).toBe(2);
});

test("scored episodes are kept, torn lines and dropped ones are not", async () => {
  const path = join(dir, "traces.jsonl");
  const lines = ["a", "b", "c"].map((id) => JSON.stringify(episode(id, ODD)));
  writeFileSync(path, `${lines.join("\n")}\n{"id": "d`);
  expect([...(await keepScored(path)).keys()]).toEqual(["a", "b", "c"]);
  expect(readFileSync(path, "utf8")).toBe(`${lines.join("\n")}\n`);
  const traces = new TracesFile(path);
  await traces.drop(new Set(["b"]));
  traces.add(episode("e", ODD));
  traces.close();
  expect([...(await keepScored(path)).keys()]).toEqual(["a", "c", "e"]);
  expect((await keepScored(join(dir, "absent.jsonl"))).size).toBe(0);
});
