import { describe, expect, it } from "vitest";

import { CATALOG, type DrawnInstruction } from "../../../../ts/environments/builtin/instruction-following/catalog.ts";
import { emptyDraft, write } from "../../../../ts/environments/builtin/instruction-following/draft.ts";
import { KEYWORDS } from "../../../../ts/environments/builtin/instruction-following/sentences.ts";
import { createRng, loadEnvironment, type Message } from "../../../../ts/environments/index.ts";
import { checkInstruction } from "../../../../ts/verify/index.ts";

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

const SENTENCES = Array.from(
  { length: 12 },
  () => "The garden was still and the sun was up but the day was long.",
).join(" ");
const LISTED = KEYWORDS.map((keyword) => `There was the ${keyword} and the ${keyword} so the ${keyword} stayed.`).join(
  " ",
);
const EVERYTHING = [
  "<<A title>>",
  `SECTION 1\nPART 1\n${SENTENCES} ${LISTED}`,
  "SECTION 2\nPART 2\nMy Answer: it is *there* for [name] and [place] on [date]. My Conclusion: *it* stays. Future Outlook: it *grows* yet.",
  "SECTION 3\nPART 3\nTHE WIND WAS COLD AND IT WAS LATE.",
  "- One point.\n- Another point.\n- A third point.",
  "P.S. That is all I know.",
].join("\n");
/** Each follows many of the kinds of instructions, whatever the task. */
const FIXED_TEXTS: readonly (readonly [name: string, text: string])[] = [
  ["nothing", ""],
  ["one word", "Yes."],
  ["many sentences", SENTENCES],
  ["all keywords", `${SENTENCES} ${LISTED}`],
  ["everything at once", EVERYTHING],
  ["everything in quotation marks", `"${EVERYTHING}"`],
  ["everything in capital letters", EVERYTHING.toUpperCase()],
  ["everything in small letters", EVERYTHING.toLowerCase()],
  ["everything that ends as an example does", `${EVERYTHING}\nIs there anything else?`],
];

/** What a way to reply gets for 200 tasks. */
async function earned(reply: (prompt: string) => string): Promise<{ mean: number; full: number }> {
  const { environment, page, rows } = await tasks({});
  const prompts = rows.map(({ prompt }) => prompt[0]?.content ?? "");
  const scores = await Promise.all(page.map((task, index) => environment.score(task, reply(prompts[index] ?? ""))));
  const rewards = scores.map(({ reward }) => reward);
  return {
    mean: rewards.reduce((sum, one) => sum + one, 0) / rewards.length,
    full: rewards.filter((one) => one === 1).length / rewards.length,
  };
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
    const [share, all] = await Promise.all([tasks({ ...args, scoring: "share" }), tasks(args)]);
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
    const { environment, page } = await tasks({});
    for (const task of page) expect((await environment.score(task, "I do not know.")).reward).toBe(0);
  });

  it.each(FIXED_TEXTS)("pays next to nothing for the same text each time: %s", async (_, text) => {
    const { mean, full } = await earned(() => text);
    expect(mean).toBeLessThan(0.25);
    expect(full).toBeLessThan(0.05);
  });

  it.each([
    ["once", (prompt: string) => prompt],
    ["five times", (prompt: string) => Array.from({ length: 5 }, () => prompt).join("\n")],
    ["in small letters", (prompt: string) => prompt.toLowerCase()],
    ["its last quotation", (prompt: string) => /"([^"]*)"(?![\s\S]*")/u.exec(prompt)?.[1] ?? ""],
  ])("pays next to nothing for the prompt given back: %s", async (_, reply) => {
    const { mean, full } = await earned(reply);
    expect(mean).toBeLessThan(0.25);
    expect(full).toBeLessThan(0.05);
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
