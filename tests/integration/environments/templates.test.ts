/** Each template of `prl env init` makes a package that is valid, and a policy that solves its tasks by other means gets full marks in `prl eval`. */
import { execFile } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { chatCompletion, type MockAnswer, mockEndpoint, type MockRequest } from "../../support/mock-endpoint.ts";
import { type Ran, runAll } from "../../support/command-lines.ts";
import { ROOT } from "../../support/prl.ts";
import { type TemplateName, TEMPLATES } from "../../../ts/cli/commands/env/init/templates.ts";
import { IS_LONG } from "../../support/form.ts";

interface Row {
  part: string;
  check: string;
  status: string;
}

interface Said {
  role: string;
  content: string;
}

/** The first numbers of a text. */
const numbers = (text: string): number[] => (text.match(/-?\d+/gu) ?? []).map(Number);

/** What stands in the prompt decides what a right answer is; nothing of the template is used. */
const POLICIES: Readonly<Record<TemplateName, (messages: Said[], request: MockRequest) => MockAnswer>> = {
  "single-turn": (_, { body }) => {
    const word = /say (\w+) loudly/u.exec(String(body["prompt"]))?.[1] ?? "";
    return { object: "text_completion", choices: [{ index: 0, text: word.toUpperCase(), finish_reason: "stop" }] };
  },
  "multi-turn": (messages) => {
    let [lowest = 0, highest = 0] = numbers(messages[0]?.content ?? "");
    for (let at = 1; at + 1 < messages.length; at += 2) {
      const guess = Number(messages[at]?.content);
      if (messages[at + 1]?.content === "higher") lowest = guess + 1;
      else highest = guess - 1;
    }
    return chatCompletion(String(Math.floor((lowest + highest) / 2)));
  },
  tools: (messages) => {
    const bought = [...(messages[0]?.content ?? "").matchAll(/(\d+) (\w+)(?=[,:?])/gu)];
    const prices = messages.filter(({ role }) => role === "tool").map(({ content }) => Number(content));
    if (prices.length === 0) {
      const call = ([, , item]: readonly string[], at: number) => ({
        id: `call_${at}`,
        type: "function",
        function: { name: "price", arguments: JSON.stringify({ item }) },
      });
      return chatCompletion("", { tool_calls: bought.map(call) });
    }
    const total = bought.reduce((sum, [, pieces], at) => sum + Number(pieces) * (prices[at] ?? 0), 0);
    return chatCompletion(`<answer>${total}</answer>`);
  },
  code: (messages) => {
    const prompt = messages[0]?.content ?? "";
    const [bound = 0, by = 0] = numbers(prompt);
    const change = prompt.includes("multiplied") ? `n * ${by}` : `n + ${by}`;
    const keep = prompt.includes("greater than") ? `n > ${bound}` : `n < ${bound}`;
    const result = prompt.includes("the sum") ? "sum" : prompt.includes("the largest") ? "max" : "min";
    const lines = [
      "def solve(numbers):",
      `    found = [${change} for n in numbers if ${keep}]`,
      `    return ${result}(found, default=0)`,
    ];
    const code = lines.join("\n").replace("sum(found, default=0)", "sum(found)");
    return chatCompletion(`\`\`\`python\n${code}\n\`\`\``);
  },
  agent: (messages) => {
    if (messages.length > 2) return chatCompletion("It is done.");
    const [divisor] = numbers(messages[1]?.content ?? "");
    const program = `print(sum(n for n in map(int, open("numbers.txt")) if n % ${divisor} == 0))`;
    return chatCompletion(`\`\`\`sh\npython3 -c '${program}' > answer.txt\n\`\`\``);
  },
  judge: (messages) => {
    const [, days = "0", from = ""] = /is (\d+) days after (.*)\?/u.exec(messages[0]?.content ?? "") ?? [];
    const date = new Date(`${from} UTC`);
    date.setUTCDate(date.getUTCDate() + Number(days));
    const month = date.toLocaleString("en-GB", { month: "long", timeZone: "UTC" });
    return chatCompletion(`That is ${date.getUTCDate()} ${month} ${date.getUTCFullYear()}.`);
  },
  group: (messages) => {
    const [lowest = 0, , divisor = 1] = numbers(messages[0]?.content ?? "");
    let number = lowest;
    while (number % divisor !== 0) number += 1;
    return chatCompletion(String(number));
  },
};
/** A sandbox for each attempt. */
const SANDBOXED: readonly string[] = ["code", "agent"];

/** The compiler and the package's own tests take seconds for each template; in short tests package.test.ts does it with one. */
const NAMES = Object.keys(TEMPLATES) as TemplateName[];
let dir: string;
let ran: Ran[];

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), "prl-templates-"));
  for (const template of NAMES) mkdirSync(join(dir, `my-${template}`));
  const mock = await mockEndpoint((request) => {
    const template = NAMES.find((name) => request.path.startsWith(`/${name}/`)) ?? "group";
    return POLICIES[template]((request.body["messages"] ?? []) as Said[], request);
  });
  ran = await runAll([
    ...NAMES.flatMap((template) => {
      const home = join(dir, `my-${template}`);
      const tasks = SANDBOXED.includes(template) ? "1" : "10";
      const address = ["--base-url", `${mock.url}/${template}/v1`, "-n", "3", "-r", "1"];
      return [
        { args: ["env", "init", `owner/my-${template}`, "--template", template, "--json"], cwd: dir },
        { args: ["env", "test", "./src/index.ts", "--tasks", tasks, "--json"], cwd: home },
        { args: ["eval", "eval.toml", ...address, "--json"], cwd: home },
      ];
    }),
    { args: ["env", "init", "loud", "--template", "singel"], cwd: dir },
  ]);
  await mock.close();
});
afterAll(() => rmSync(dir, { recursive: true }));

describe.each(NAMES.map((template, at) => [template, at] as const))("the template %s", (template, at) => {
  /** The JSON that a command line of this template printed. */
  const printed = (line: number): unknown => {
    const { code, stdout, stderr } = ran[at * 3 + line] ?? { code: -1, stdout: "", stderr: "" };
    expect([code, code === 0 ? "" : `${stdout}${stderr}`]).toEqual([0, ""]);
    return JSON.parse(stdout);
  };

  test("gives files that have the name of the package", () => {
    const { files } = printed(0) as { files: string[] };
    const home = join(dir, `my-${template}`);
    expect(files.filter((file) => !existsSync(join(home, file)))).toEqual([]);
    const least = ["package.json", "README.md", "eval.toml", "src/index.ts", "src/index.test.ts"];
    expect(files).toEqual(expect.arrayContaining(least));
    const texts = files.filter((file) => !file.endsWith("/")).map((file) => readFileSync(join(home, file), "utf8"));
    expect(texts.filter((text) => /\bmy-env\b/u.test(text))).toEqual([]);
  });

  test.runIf(IS_LONG)("builds, and passes its own test", async () => {
    const home = join(dir, `my-${template}`);
    const modules = join(home, "node_modules");
    mkdirSync(join(modules, "@types"), { recursive: true });
    symlinkSync(ROOT, join(modules, "prl-lm"));
    for (const name of ["typescript", "@types/node"])
      symlinkSync(join(ROOT, "node_modules", name), join(modules, name));
    await promisify(execFile)(process.execPath, ["node_modules/typescript/bin/tsc"], { cwd: home });
    await promisify(execFile)(process.execPath, ["--test", "dist/index.test.js"], { cwd: home });
  });

  test("passes the quality gate", () => {
    const { passed, environment, rows } = printed(1) as { passed: boolean; environment: object; rows: Row[] };
    expect([passed, environment]).toMatchObject([true, { name: `my-${template}` }]);
    // An agent program leaves files; there is no reply that could be scored without it.
    const gate = rows.filter(({ part, check }) => part === "gate" && check !== "speed");
    expect(gate.every(({ status }) => status === "not checked")).toBe(template === "agent");
    expect(gate.find(({ check }) => check === "full marks")?.status).toBe(
      template === "agent" ? "not checked" : "passed",
    );
  });

  test("gives a policy that solves its tasks by other means full marks", () => {
    expect(printed(2)).toMatchObject({
      evaluations: [{ name: `my-${template}`, scored: 3, errors: 0, reward: { mean: 1 } }],
    });
  });
});

test("a template that there is not is refused with the names of those that there are", () => {
  const { code, stderr } = ran.at(-1) ?? { code: -1, stderr: "" };
  expect([code, stderr]).toEqual([2, expect.stringContaining("--template: expected one of single-turn, multi-turn")]);
});
