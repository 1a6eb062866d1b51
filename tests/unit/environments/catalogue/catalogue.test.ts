import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";

import { createRng } from "../../../../ts/random/rng.ts";
import { drawInstance, isLeaked } from "../../../../ts/environments/catalogue/drawn.ts";
import { CATALOGUE_CATEGORIES, catalogueRows, isCatalogueId } from "../../../../ts/environments/catalogue/index.ts";
import { answerIn, LONGEST_ANSWER } from "../../../../ts/environments/catalogue/reply-answer.ts";
import { idOf } from "../../../../ts/environments/catalogue/row-environment.ts";
import { defineRow, isProgramRow, type Row } from "../../../../ts/environments/catalogue/row.ts";
import { nearDuplicates, signatureOf } from "../../../../ts/environments/catalogue/gate/near-duplicates.ts";
import { sharedBySplits } from "../../../../ts/environments/catalogue/gate/splits.ts";
import { equalWordings } from "../../../../ts/environments/catalogue/gate/wordings.ts";
import { rankCorrelation } from "../../../../ts/environments/catalogue/gate/monotone.ts";
import { loadEnvironment, validateEnvironment } from "../../../../ts/environments/index.ts";

interface Data {
  readonly row: string;
  readonly level: number;
}

async function drawn(id: string, args: object, count: number, split: "train" | "eval" = "train") {
  const configured = (await loadEnvironment(id)).configure(args);
  return (await configured.tasks(split, 1).page(null, count)).tasks.map(({ data, hash }) => ({
    ...(data as Data),
    hash,
  }));
}

describe("the catalogue", () => {
  test("ids are unique, and each loads as an environment that checks its gold answers", async () => {
    const ids = (await catalogueRows()).map(idOf);
    expect(new Set(ids).size).toBe(ids.length);
    for (const id of ids) {
      const environment = await loadEnvironment(id);
      expect([isCatalogueId(id), environment.validates, environment.demonstrates]).toEqual([true, true, true]);
    }
  });

  test.each([
    ["logic/keyed-maze-rout", 'did you mean "logic/keyed-maze-route"?'],
    ["catalogue/logik", 'did you mean "catalogue/logic"?'],
    ["logic/x", "prl env list --catalogue"],
  ])("%s is unknown: %s", async (id, advice) => {
    await expect(loadEnvironment(id)).rejects.toMatchObject({
      code: "PRL_ENVIRONMENT_UNKNOWN",
      message: expect.stringContaining(advice) as unknown,
    });
  });

  test.each([[{ level: 6 }], [{ level: [3, 1] }], [{ difficulty: 1 }]])("arguments %j are refused", async (args) => {
    const environment = await loadEnvironment("logic/keyed-maze-route");
    expect(() => environment.configure(args)).toThrow(/keyed-maze-route/u);
  });

  test("tasks have the levels of the range, and a level alone is a range", async () => {
    const levels = async (level: unknown) =>
      [...new Set((await drawn("logic/keyed-maze-route", { level }, 30)).map((task) => task.level))].toSorted(
        (a, b) => a - b,
      );
    expect(await levels([1, 3])).toEqual([1, 2, 3]);
    expect(await levels(2)).toEqual([2]);
  });

  test("train and eval share no task, and a seed repeats its tasks", async () => {
    const id = "logic/ferry-constraints";
    const train = (await drawn(id, { level: 1 }, 60)).map(({ hash }) => hash);
    expect((await drawn(id, { level: 1 }, 60)).map(({ hash }) => hash)).toEqual(train);
    const environment = (await loadEnvironment(id)).configure({ level: 1 });
    const keys = async (split: "train" | "eval", count: number) =>
      (await environment.tasks(split, 1).page(null, count)).tasks.map((task) => environment.contentKey(task));
    const learnt = new Set(await keys("train", 60));
    expect((await keys("eval", 20)).filter((key) => learnt.has(key))).toEqual([]);
  });

  test("a mixture draws by weights, and each part keeps its own levels", async () => {
    const tasks = [
      { id: "keyed-maze-route", weight: 3, level: [1, 1] },
      { id: "logic/ferry-constraints", weight: 1 },
    ];
    const all = await drawn("catalogue/logic", { level: [2, 2], tasks }, 200);
    const mazes = all.filter(({ row }) => row === "logic/keyed-maze-route");
    expect(mazes.length).toBeGreaterThan(120);
    expect(mazes.length).toBeLessThan(180);
    expect(new Set(mazes.map(({ level }) => level))).toEqual(new Set([1]));
    expect(new Set(all.map(({ row }) => row)).size).toBe(2);
    expect(new Set(all.filter(({ row }) => row.endsWith("constraints")).map(({ level }) => level))).toEqual(
      new Set([2]),
    );
  });

  test("a mixture names a part that is unknown", async () => {
    const configured = (await loadEnvironment("catalogue/all")).configure({ tasks: [{ id: "logic/none" }] });
    await expect(configured.tasks("train", 1).page(null, 1)).rejects.toThrow(
      'no task, family or category "logic/none"',
    );
  });

  test.each(["logic/ferry-constraints", "catalogue/logic"])("%s passes the checks of prl env validate", async (id) => {
    const configured = (await loadEnvironment(id)).configure({ level: [1, 2] });
    const { failures } = await validateEnvironment(configured, { tasks: 12, seed: 4 });
    expect(failures).toEqual([]);
  });

  test("programs are scored in sandboxes: validated, their gold programs, and partial = false", async () => {
    const environment = await loadEnvironment("code/rule-table-function");
    expect(environment.requires).toEqual({ sandbox: "pool" });
    const configured = environment.configure({ level: 2 });
    const { failures } = await validateEnvironment(configured, { tasks: 2, seed: 4 });
    expect(failures).toEqual([]);
    const [task] = (await configured.tasks("train", 1).page(null, 1)).tasks;
    if (task === undefined) throw new Error("no task");
    const { instance } = task.data as { instance: object };
    const [row] = (await catalogueRows(["code"])).map((placed) => placed.row).filter(isProgramRow);
    const gold = row?.gold(instance) ?? "";
    // One wrong class of calls costs its share.
    const partly = gold.replace(
      "def charge(parcel):",
      'def charge(parcel):\n    if parcel["amount"] > 5000: return -1',
    );
    for (const [code, partial, rest] of [
      [gold, "all", 1],
      [partly, "a share", 0],
      ["def charge(parcel): return 0", "nothing", 0],
    ] as const) {
      const reply = `\`\`\`python\n${code}\n\`\`\``;
      const { reward } = await configured.score(task, reply);
      expect(reward === 0 ? "nothing" : reward === 1 ? "all" : "a share").toBe(partial);
      expect((await environment.configure({ level: 2, partial: false }).score(task, reply)).reward).toBe(rest);
    }
  });

  test("all calls of a function run in one process, unless classes of them earn shares", async () => {
    const rows = new Map((await catalogueRows(["code"])).map(({ row }) => [row.id, row]));
    const examsOf = (id: string) => {
      const row = rows.get(id);
      if (row === undefined || !isProgramRow(row)) throw new Error(`${id} is no row of programs`);
      return row.exam(drawInstance(row, 2, createRng(5)).instance);
    };
    const [whole, shared] = [examsOf("edit-cost"), examsOf("rule-table-function")];
    expect([whole.tests.length, whole.parts]).toEqual([1, undefined]);
    const [{ input, output }] = [whole.tests[0] ?? { input: [], output: [] }];
    expect([(input[0] as unknown[]).length > 10, (output as unknown[]).length]).toEqual([
      true,
      (input[0] as unknown[]).length,
    ]);
    expect(shared.tests.length).toBeGreaterThan(2);
    expect(shared.parts?.length).toBe(shared.tests.length);
  });

  test("of the code tasks only those whose answers are programs, and mixtures with them, require a sandbox", async () => {
    const requirementsOf = async (id: string) => (await loadEnvironment(id)).requires;
    const needs = await Promise.all(
      (await catalogueRows(["code"])).map(async (placed) => [
        isProgramRow(placed.row),
        await requirementsOf(idOf(placed)),
      ]),
    );
    expect(needs.filter(([isProgram]) => isProgram === false).length).toBeGreaterThan(10);
    for (const [isProgram, requires] of needs) expect(requires).toEqual(isProgram === true ? { sandbox: "pool" } : {});
    expect(await requirementsOf("catalogue/code")).toEqual({ sandbox: "pool" });
    const alone = (await loadEnvironment("code/numeric-edge-reading")).configure({ level: [1, 2] });
    expect((await validateEnvironment(alone, { tasks: 4, seed: 4 })).failures).toEqual([]);
  });

  test("partly right answers earn their share, and nothing with partial = false", async () => {
    const environment = await loadEnvironment("logic/parcel-logistics");
    const [task] = (await environment.configure({ level: 1 }).tasks("train", 1).page(null, 1)).tasks;
    if (task === undefined) throw new Error("no task");
    const { instance } = task.data as { instance: { plan: string[]; towns: string[] } };
    // A parcel that is put down and taken up again costs two steps more.
    const at = instance.plan.findIndex((step) => step.startsWith("load"));
    const [load = ""] = instance.plan.slice(at);
    const longer = [
      ...instance.plan.slice(0, at + 1),
      load.replace("load", "unload"),
      load,
      ...instance.plan.slice(at + 1),
    ];
    const reply = `<answer>${longer.join("\n")}</answer>`;
    const length = instance.plan.length;
    expect((await environment.configure({ level: 1 }).score(task, reply)).reward).toBeCloseTo(
      (length / (length + 2)) ** 2,
    );
    expect((await environment.configure({ level: 1, partial: false }).score(task, reply)).reward).toBe(0);
  });
});

describe("the answer of a reply", () => {
  test.each([
    ["<answer> 4 </answer>", "4"],
    ["<answer>1</answer> no: <answer>2</answer>", "2"],
    ["<think><answer>1</answer></think><answer>2</answer>", "2"],
    ["<answer>```\na\nb\n```</answer>", "a\nb"],
    ["<answer>**7**</answer>", "7"],
    ["<think><answer>1</answer>", null],
    ["<answer>1", null],
    ["1</answer>", null],
    ["<answer> </answer>", null],
    [`<answer>${"1".repeat(LONGEST_ANSWER + 1)}</answer>`, null],
  ])("%#: %s", (reply, answer) => {
    expect(answerIn(reply, "answer")).toBe(answer);
  });

  test("a box counts where the row wants one, and tags do not", () => {
    expect(answerIn("so \\boxed{12}", "boxed")).toBe("12");
    expect(answerIn("<answer>12</answer>", "boxed")).toBeNull();
  });
});

describe("the documents", () => {
  const HEAD = "task asks effort at levels 1 to 5 best constant other answers tasks/s score p99 (ms)";
  const linesOf = (category: string): string[][] =>
    readFileSync(join("ts/environments/catalogue", category, "README.md"), "utf8")
      .split("\n")
      .filter((line) => line.startsWith("| "))
      .map((line) =>
        line
          .split(/(?<!\\)\|/u)
          .slice(1, -1)
          .map((cell) => cell.trim().replaceAll("\\|", "|")),
      );

  test.each(CATALOGUE_CATEGORIES)(
    "the table of %s has every task and what it asks, in the catalogue's order",
    async (category) => {
      const listed = linesOf(category).filter(([task = ""]) => task.startsWith("`"));
      const expected = (await catalogueRows([category])).map(({ row }) => [`\`${row.id}\``, row.asks]);
      expect(listed.map((cells) => cells.slice(0, 2))).toEqual(expected);
    },
  );

  test.each(CATALOGUE_CATEGORIES)(
    "the table of %s states what the gate measured, within its bounds",
    async (category) => {
      const rows = new Map((await catalogueRows([category])).map(({ row }) => [`\`${row.id}\``, row]));
      const wrong: string[] = [];
      for (const cells of linesOf(category)) {
        const [task = "", , efforts = "", constant = "", others = "", rate = "", late = ""] = cells;
        const row = rows.get(task);
        if (task === "task") expect(cells.join(" ")).toBe(HEAD);
        if (row === undefined) continue;
        const levels = efforts.split(", ").map(Number);
        const grows =
          levels.length === 5 && levels.every((effort, at) => at === 0 || effort > (levels[at - 1] ?? Infinity));
        // A program that returns a constant is a cheat, which earns nothing.
        const isBounded = isProgramRow(row) ? constant === "–" : Number(constant) <= 0.2;
        const isMeasured = Number(others) <= 0.1 && Number(rate) > 0 && Number(late) >= 0 && late !== "";
        if (!grows || !isBounded || !isMeasured) wrong.push(cells.join(" | "));
      }
      expect(wrong).toEqual([]);
    },
  );
});

interface Toy {
  readonly sum: number;
  readonly seed: number;
}

const drawnOf = (row: Row) => Array.from({ length: 100 }, (_, seed) => drawInstance(row, 1, createRng(seed)));

describe("the parts of the gate", () => {
  test("an answer that stands in the prompt is found, and one inside of a word or number is not", () => {
    expect([isLeaked("take 1234 now", "1234"), isLeaked("take 91234 now", "1234"), isLeaked("a 12 b", "12")]).toEqual([
      true,
      false,
      false,
    ]);
  });

  test("rank correlation is 1 for equal orders, -1 for opposite ones, and counts ties", () => {
    expect(
      rankCorrelation([
        [1, 5],
        [2, 6],
        [3, 9],
      ]),
    ).toBeCloseTo(1);
    expect(
      rankCorrelation([
        [1, 9],
        [2, 6],
        [3, 5],
      ]),
    ).toBeCloseTo(-1);
    // scipy.stats.spearmanr([1, 1, 2, 2], [3, 4, 4, 8])
    expect(
      rankCorrelation([
        [1, 3],
        [1, 4],
        [2, 4],
        [2, 8],
      ]),
    ).toBeCloseTo(Math.SQRT1_2, 12);
    expect(
      rankCorrelation([
        [1, 3],
        [2, 3],
      ]),
    ).toBe(0);
  });

  test.each<[string, readonly string[], readonly string[]]>([
    ["marks, case and numbers", ["How many of 7 are odd?", "how many of 12 are odd"], ["differ in 0 words"]],
    ["order", ["Take the rules. Then the data.", "Then the data. Take the rules."], ["differ in 0 words"]],
    ["a phrase", ["Count the walks.", "Count the walks, please, for me."], ["wordings 0 and 1 differ in 3 words"]],
    ["words", ["Count the walks of this graph.", "A robot goes along roads; give all of its tours."], []],
  ])("wordings that differ in %s are compared by their words", (_, texts, messages) => {
    const prompts = texts.map((text) => () => text);
    const row = { id: "x", asks: "x", make: () => ({}), effort: () => 1, prompts };
    const expected = messages.map((message) => expect.stringContaining(message) as unknown);
    expect(equalWordings(row, {})).toEqual(expected);
  });

  test("a problem of several canonical forms is found in train and in eval", () => {
    const row = (canonical: (one: Toy) => unknown): Row =>
      defineRow<Toy>({
        id: "toy",
        asks: "a sum",
        place: "boxed",
        make: (rng) => ({ sum: rng.integer(40), seed: rng.integer(2 ** 31) }),
        effort: () => 1,
        canonical,
        prompts: [({ sum }) => `What is ${sum} + 1?`],
        gold: ({ sum }) => String(sum + 1),
        nearMisses: () => [],
        score: () => 0,
      });
    const shared = sharedBySplits(
      "math/toy",
      row((one) => one),
      drawnOf(row((one) => one)),
    );
    expect(shared).toContainEqual(expect.stringMatching(/^train and eval share "what is \d+ \+ 1\?"$/u));
    const sound = row(({ sum }) => sum);
    expect(sharedBySplits("math/toy", sound, drawnOf(sound))).toEqual([]);
  });

  test("prompts in the same words are near duplicates, whatever their numbers", () => {
    const text = (n: number) => `How many ways are there to put ${n} balls into ${n + 1} boxes of the same colour?`;
    const rows = [
      { id: "a", signature: signatureOf([text(3), text(8)]) },
      { id: "b", signature: signatureOf([text(5)]) },
      { id: "c", signature: signatureOf(["Find the longest walk through the rooms of this house without any key."]) },
    ];
    expect(nearDuplicates(rows, 0.5)).toEqual(["a and b: 1.00"]);
  });
});
