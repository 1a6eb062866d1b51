import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

import { sameNumber, statedNumber } from "../../../../ts/environments/builtin/gsm8k/answer.ts";
import { countTasks } from "../../../../ts/environments/internal.ts";
import { loadEnvironment } from "../../../../ts/environments/index.ts";
import { mockHub } from "../../../support/hub/mock-hub.ts";

describe("the number that a reply states", () => {
  it.each<[string, string | null, string | null]>([
    ["It is 3 + 4.\n#### 7", "7", "7"],
    ["#### 1,200", "1200", "1200"],
    ["#### $1,200.00", "1200.00", "1200.00"],
    ["#### -5", "-5", "-5"],
    ["#### −5", "-5", "-5"],
    ["#### **18**", "18", "18"],
    ["#### 18 dollars for 3 people", "18", "18"],
    ["#### 3 * 6 = 18", "18", "18"],
    ["#### x = 18", "18", "18"],
    ["#### \\(18\\)", "18", "18"],
    ["#### 5\nNo: #### 6", "6", "6"],
    ["#### 18.", "18", "18"],
    ["#### 5 or 6", null, null],
    ["#### 5, 6", null, null],
    ["It is 7.\n#### 5 or 6", null, null],
    ["#### none\nBut 3", null, "3"],
    ["The answer is \\boxed{42}, not 7", null, "42"],
    ["So there are 12 of them.", null, "12"],
    ["<think>#### 9", null, null],
    ["<think>9</think> #### 8", "8", "8"],
    ["no idea", null, null],
    ["", null, null],
  ])("%j", (reply, strict, lenient) => {
    expect([statedNumber(reply, true), statedNumber(reply, false)]).toEqual([strict, lenient]);
  });

  it.each<[string, string, boolean]>([
    ["18", "18.0", true],
    ["018", "18", true],
    ["-0", "0", true],
    ["0.50", ".5", true],
    ["123456789012345678901", "123456789012345678902", false],
    ["5", "-5", false],
    ["1.5", "15", false],
  ])("%s and %s: %s", (a, b, same) => {
    expect(sameNumber(a, b)).toBe(same);
  });
});

describe("where tasks come from", () => {
  let dir: string;
  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), "prl-gsm8k-"));
  });
  afterEach(() => rmSync(dir, { recursive: true }));

  const rows = (count: number): string =>
    Array.from(
      { length: count },
      (_, i) => `${JSON.stringify({ question: `${i} + 1?`, answer: `Add.\n#### ${i + 1}` })}\n`,
    ).join("");
  const configured = async (args: object) => (await loadEnvironment("gsm8k")).configure(args);
  const counts = async (args: object) => {
    const environment = await configured(args);
    return [(await countTasks(environment, "train")).count, (await countTasks(environment, "eval")).count];
  };

  it("a file is split by content, or has a second file for evaluation", async () => {
    const [data, evalData] = [join(dir, "a.jsonl"), join(dir, "b.jsonl")];
    writeFileSync(data, rows(400));
    writeFileSync(evalData, rows(7));
    const [train = 0, held = 0] = await counts({ data });
    expect(held).toBeGreaterThan(20);
    expect(train).toBeGreaterThan(150);
    expect(await counts({ data, evalData })).toEqual([400, 7]);
    const { tasks } = await (await configured({ data, evalData })).tasks("eval", 1).page(null, 1);
    expect(tasks[0]?.data).toMatchObject({ question: "0 + 1?", solution: "Add.", answer: "1" });
    await (await configured({ data })).validate(tasks[0] as (typeof tasks)[0]);
  });

  it("a dataset of the hub, by its splits", async () => {
    const hub = await mockHub({
      "main/train-00000-of-00001.jsonl": Buffer.from(rows(30)),
      "main/test-00000-of-00001.jsonl": Buffer.from(rows(4)),
      "socratic/train-00000-of-00001.jsonl": Buffer.from(rows(3)),
    });
    process.env["HF_ENDPOINT"] = hub.url;
    process.env["PRL_CACHE_DIR"] = dir;
    try {
      expect(await counts({ data: "owner/name" })).toEqual([30, 4]);
      const order = async (seed: number) =>
        (await (await configured({ data: "owner/name" })).tasks("train", seed).page(null, 30)).tasks.map(
          ({ hash }) => hash,
        );
      expect(await order(1)).toEqual(await order(1));
      expect(await order(1)).not.toEqual(await order(2));
      expect((await order(1)).toSorted()).toEqual((await order(2)).toSorted());
      await expect(counts({ data: "owner/name", subset: "absent" })).rejects.toMatchObject({ code: "PRL_HUB_UNKNOWN" });
    } finally {
      delete process.env["HF_ENDPOINT"];
      delete process.env["PRL_CACHE_DIR"];
      await hub.close();
    }
  });

  it.each<[object, string, string]>([
    [{ data: "./absent.jsonl" }, "PRL_DATA_FILE", "there is no file"],
    [{ data: "gsm8k" }, "PRL_CONFIG_INVALID", "is no dataset"],
  ])("%j is refused", async (args, code, message) => {
    const error: unknown = await counts(args).catch((cause: unknown) => cause);
    expect(error).toMatchObject({ code });
    expect(String(error)).toContain(message);
  });

  it("a row without a number is named", async () => {
    const data = join(dir, "a.jsonl");
    writeFileSync(data, JSON.stringify({ question: "why?", answer: "because" }));
    await expect(counts({ data, evalData: data })).rejects.toThrow("has no number behind ####");
  });
});
