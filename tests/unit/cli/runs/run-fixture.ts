/** Makes run directories as a launcher and its processes leave them. */
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";

export async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "prl-runs-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  return folder;
}

/** Files by their path below the run directory; an object is written as JSON, a list as JSON lines. */
export async function writeRun(outputDir: string, name: string, files: Record<string, unknown>): Promise<string> {
  const runDir = join(outputDir, name);
  await mkdir(runDir, { recursive: true });
  for (const [file, content] of Object.entries(files)) {
    const path = join(runDir, file);
    await mkdir(join(path, ".."), { recursive: true });
    await writeFile(path, textOf(content));
  }
  return runDir;
}

export async function latestLogs(runDir: string, attempt: string): Promise<void> {
  await rm(join(runDir, "logs", "latest"), { force: true });
  await symlink(attempt, join(runDir, "logs", "latest"));
}

/** Both halves of a step. */
export function step(number: number, reward: number, attempt = 1): object[] {
  const line = { attempt, step: number, time: 1_000 + number };
  return [
    { component: "orchestrator", ...line, "train/agg/all/agent/reward/mean": reward },
    { component: "trainer", ...line, "loss/mean": reward / 10 },
  ];
}

export function evaluation(source: string, version: number, reward: number, attempt = 1): object {
  const line = { component: "orchestrator", attempt, step: version, time: 1_000 + version };
  return { ...line, [`eval/${source}/all/agent/reward/mean`]: reward, [`eval/${source}/num`]: 16 };
}

export function started(time: number, attempt = 1): object {
  return { component: "launcher", attempt, time, type: "started", pid: 1 };
}

function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return JSON.stringify(content);
  return content.map((line) => `${JSON.stringify(line)}\n`).join("");
}
