/** `prl tmux` against a tmux that writes down what it is asked for, and against the real one where it is installed. */
import { execFile } from "node:child_process";
import { chmod, mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, onTestFinished, test, vi } from "vitest";

import { latestLogs, temporaryFolder, writeRun } from "./run-fixture.ts";
import { prl } from "../run.ts";

const run = promisify(execFile);
const hasTmux = await run("tmux", ["-V"]).then(
  () => true,
  () => false,
);

async function loggedRun(folder: string, name: string): Promise<string> {
  const runDir = await writeRun(folder, name, {
    "logs/attempt_1/sandboxd-0.log": "listening\n",
    "logs/attempt_1/trainer-0.log": "ready to train\n",
    "logs/attempt_1/inference-0.log": "",
    "logs/attempt_1/inference-1.log": "",
    "logs/attempt_1/orchestrator-0.log": "",
  });
  await latestLogs(runDir, "attempt_1");
  return runDir;
}

/** Says `answer` to list-sessions and a pane's name to split-window; every call is a line of JSON in `calls`, behind its -u. */
async function fakeTmux(folder: string, answer = ""): Promise<{ PATH: string; calls: () => Promise<string[][]> }> {
  const bin = join(folder, "bin");
  await mkdir(bin, { recursive: true });
  const log = join(folder, "calls.jsonl");
  const script = [
    `#!${process.execPath}`,
    "const [, , , ...args] = process.argv;",
    `require("node:fs").appendFileSync(${JSON.stringify(log)}, JSON.stringify(args) + "\\n");`,
    `if (args[0] === "list-sessions") process.stdout.write(${JSON.stringify(answer)});`,
    'if (["new-session", "split-window"].includes(args[0])) console.log("%7");',
  ];
  await writeFile(join(bin, "tmux"), script.join("\n"));
  await chmod(join(bin, "tmux"), 0o755);
  const calls = async () =>
    (await readFile(log, "utf8"))
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as string[]);
  return { PATH: bin, calls };
}

describe("prl tmux", () => {
  test("a session with a pane per component, in their order, each following its log", async () => {
    const folder = await temporaryFolder();
    await loggedRun(folder, "other");
    const runDir = await loggedRun(folder, "my.run");
    const { PATH, calls } = await fakeTmux(folder);
    const { code, stdout, stderr } = await prl(["tmux", "--output-dir", folder], folder, { PATH });
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toContain("tmux attach -t prl-my_run");
    const made = (await calls()).filter(([name]) => name === "new-session" || name === "split-window");
    expect(made.map((args) => args.slice(-4))).toEqual(
      ["orchestrator", "trainer", "inference", "sandboxd"].map((component) => ["logs", "-f", runDir, component]),
    );
    expect(made[0]?.slice(0, 4)).toEqual(["new-session", "-d", "-s", "prl-my_run"]);
    const titles = (await calls()).flatMap((args) => (args.includes("-T") ? args.slice(-1) : []));
    expect(titles).toEqual(["orchestrator", "trainer", "inference", "sandboxd"]);
  });

  test("an existing session is not made again, and kill ends only ours", async () => {
    const folder = await temporaryFolder();
    const runDir = await loggedRun(folder, "a");
    const there = `mine\t\nprl-a\t${runDir}\nprl-b\t/elsewhere/b\n`;
    const { PATH, calls } = await fakeTmux(folder, there);
    const made = await prl(["tmux", "a", "--output-dir", folder, "--json"], folder, { PATH });
    expect(JSON.parse(made.stdout)).toMatchObject({ session: "prl-a", run_dir: runDir });
    expect((await calls()).map(([name]) => name)).toEqual(["list-sessions"]);
    const other = await prl(["tmux", await loggedRun(folder, "b"), "--output-dir", folder], folder, { PATH });
    expect(other.stderr).toContain("the session prl-b shows /elsewhere/b");

    expect((await prl(["tmux", "kill", "a"], folder, { PATH })).stdout).toBe("Ended prl-a\n");
    expect((await calls()).at(-1)).toEqual(["kill-session", "-t", "=prl-a"]);
    expect((await prl(["tmux", "kill"], folder, { PATH })).stdout).toBe("Ended prl-a, prl-b\n");
    const unknown = await prl(["tmux", "kill", "mine"], folder, { PATH });
    expect(unknown).toMatchObject({ code: 1 });
    expect(unknown.stderr).toContain("prl made no session prl-mine: there are prl-a, prl-b");
  });

  test("without tmux it says what to install, without a run where it looked", async () => {
    const folder = await temporaryFolder();
    const nothing = await prl(["tmux", "--output-dir", join(folder, "none")], folder);
    expect(nothing.code).toBe(2);
    expect(nothing.stderr).toContain("PRL_RUN_UNKNOWN");
    await loggedRun(folder, "a");
    const missing = await prl(["tmux", "--output-dir", folder], folder, { PATH: join(folder, "empty") });
    expect(missing.code).toBe(1);
    expect(missing.stderr).toContain("PRL_TMUX");
    expect(missing.stderr).toContain("apt install tmux");
    expect((await prl(["tmux", "a", "b"], folder)).code).toBe(2);
  });

  const name = "the real one shows what the logs say";
  test.skipIf(!hasTmux)(`${name}${hasTmux ? "" : " (tmux is not installed)"}`, async () => {
    const folder = await temporaryFolder();
    await loggedRun(folder, "a");
    // A server of this test's own.
    const env = { PATH: process.env["PATH"] ?? "", TMUX_TMPDIR: folder, TERM: "xterm" };
    onTestFinished(async () => void (await run("tmux", ["kill-server"], { env }).catch(() => undefined)));
    expect(await prl(["tmux", "--output-dir", folder], folder, env)).toMatchObject({ code: 0, stderr: "" });
    const panes = (await run("tmux", ["list-panes", "-t", "=prl-a:", "-F", "#{pane_id} #{pane_title}"], { env }))
      .stdout;
    const titled = panes.split("\n").map((line) => line.split(" "));
    expect(titled.map(([, title]) => title)).toEqual(["orchestrator", "trainer", "inference", "sandboxd", undefined]);
    await vi.waitFor(
      async () => {
        const { stdout } = await run("tmux", ["capture-pane", "-p", "-S", "-", "-t", titled[1]?.[0] ?? ""], { env });
        expect(stdout).toContain("trainer-0 | ready to train");
      },
      { timeout: 30_000, interval: 250 },
    );
    expect((await prl(["tmux", "kill"], folder, env)).stdout).toBe("Ended prl-a\n");
  });
});
