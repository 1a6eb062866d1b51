/** Self-play learns: minutes long, so only with PRL_TEST_LONG=1. */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { chatCompletion, mockEndpoint } from "../../support/mock-endpoint.ts";
import { prl, readJson, ROOT, workspace } from "../../support/prl.ts";
import { IS_LONG } from "../../support/form.ts";

const MINUTE_MS = 60_000;
const CONFIGS = join(import.meta.dirname, "../configs");

interface Summary {
  status: string;
  eval: Record<string, Record<"before" | "after", { reward: number; num: number }>>;
}

let place: Awaited<ReturnType<typeof workspace>>;
beforeEach(async () => {
  place = await workspace();
});
afterEach(() => place.remove());

/** Makes each move that it is offered equally often. */
function randomPlayer() {
  let asked = 0;
  return mockEndpoint(({ body }) => {
    const messages = body["messages"] as { content: string }[];
    const moves = messages.at(-1)?.content.match(/\[\w+\]/gu) ?? [];
    asked++;
    // Multiplied by the golden ratio the count falls evenly and out of step with the hands.
    const share = (asked * 0.618_033_988_75) % 1;
    return chatCompletion(moves[Math.floor(share * moves.length)] ?? "");
  });
}

describe.runIf(IS_LONG)("self-play", () => {
  test("of kuhn-poker wins more chips from a player that moves at random", { timeout: 15 * MINUTE_MS }, async () => {
    const opponent = await randomPlayer();
    try {
      const config = (await readFile(join(CONFIGS, "kuhn-poker.toml"), "utf8"))
        .replaceAll("http://127.0.0.1:9/v1", `${opponent.url}/v1`)
        .replaceAll("../../..", ROOT)
        .replaceAll("kuhn-poker-sft.toml", join(CONFIGS, "kuhn-poker-sft.toml"));
      const file = join(place.dir, "rl.toml");
      await writeFile(file, config);
      const options = { cwd: place.dir, cache: place.cache, deadlineMs: 14 * MINUTE_MS };
      const run = await prl(["rl", file, "--run.name", "kuhn"], options);
      expect(run.code, run.stderr.slice(-2000)).toBe(0);
    } finally {
      await opponent.close();
    }
    const summary = await readJson<Summary>(join(place.dir, "outputs/kuhn/summary.json"));
    expect(summary.status).toBe("completed");
    const [first, second] = [summary.eval["first"], summary.eval["second"]];
    expect([first?.before.num, second?.after.num]).toEqual([512, 512]);
    const chips = (when: "before" | "after") => (first?.[when].reward ?? 0) + (second?.[when].reward ?? 0);
    // Runs gain about 0.6 over both seats; the standard error of the difference is 0.12.
    expect(chips("after") - chips("before")).toBeGreaterThan(0.25);
  });
});
