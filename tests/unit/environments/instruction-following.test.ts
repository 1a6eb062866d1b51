import { describe, expect, it } from "vitest";

import { CATALOG, type DrawnInstruction } from "../../../ts/environments/builtin/instruction-following/catalog.ts";
import { emptyDraft, write } from "../../../ts/environments/builtin/instruction-following/draft.ts";
import { createRng, loadEnvironment, type Message } from "../../../ts/environments/index.ts";
import { checkInstruction } from "../../../ts/environments/verify/index.ts";

interface Row {
  prompt: Message[];
  instructions: DrawnInstruction[];
  gold: string;
}

async function tasks(args: object, count = 200) {
  const environment = (await loadEnvironment("instruction-following")).configure(args);
  const { tasks: page } = await environment.tasks("train", 1).page(null, count);
  return { environment, page, rows: page.map(({ data }) => data as Row) };
}

describe("instruction-following", () => {
  it.each(CATALOG.map((kind, index) => [index, kind.theme, kind] as const))(
    "kind %d, of %s: its draft follows it and an unrelated reply may not",
    (_index, _theme, kind) => {
      for (let seed = 0; seed < 20; seed++) {
        const draft = emptyDraft();
        draft.sentences.push("It is one of the places that we like.");
        const { id, kwargs, text } = kind.draw({ rng: createRng(seed), draft, topic: "a bridge" });
        expect(checkInstruction(id, kwargs, write(draft)).strict).toBe(true);
        expect(text).toMatch(/\.$/u);
      }
    },
  );

  it("combines instructions of different themes, all of which occur", async () => {
    const { rows } = await tasks({ minInstructions: 2, maxInstructions: 5 }, 400);
    expect(new Set(rows.map(({ instructions }) => instructions.length))).toEqual(new Set([2, 3, 4, 5]));
    const seen = new Set(rows.flatMap(({ instructions }) => instructions.map(({ id }) => id)));
    expect(seen.size).toBeGreaterThanOrEqual(18);
    for (const { prompt, instructions } of rows) {
      for (const { text } of instructions) expect(prompt[0]?.content).toContain(text);
    }
  });

  it("pays the share of instructions followed, or all or nothing", async () => {
    const args = { minInstructions: 3, maxInstructions: 3 };
    const [share, all] = await Promise.all([tasks(args), tasks({ ...args, scoring: "all" })]);
    const rewards = await Promise.all(
      share.page.map(async (task) => (await share.environment.score(task, "Yes.")).reward),
    );
    const partly = rewards.findIndex((reward) => reward > 0 && reward < 1);
    expect(partly).toBeGreaterThanOrEqual(0);
    expect([1 / 3, 2 / 3].some((part) => Math.abs((rewards[partly] ?? 0) - part) < 1e-9)).toBe(true);
    const task = all.page[partly];
    if (task === undefined) throw new Error("no task");
    expect((await all.environment.score(task, "Yes.")).reward).toBe(0);
    expect((await all.environment.score(task, all.rows[partly]?.gold ?? "")).reward).toBe(1);
  });

  it("asks for nothing that any reply follows", async () => {
    const { environment, page } = await tasks({ scoring: "all" });
    for (const task of page) expect((await environment.score(task, "I do not know.")).reward).toBe(0);
  });

  it("demonstrates with replies that follow", async () => {
    const { environment } = await tasks({}, 1);
    let count = 0;
    for (const demonstration of environment.demonstrations(1)) {
      if (!("messages" in demonstration)) throw new Error("a pair");
      expect(demonstration.messages.map(({ role }) => role)).toEqual(["user", "assistant"]);
      if (++count === 20) break;
    }
  });
});
