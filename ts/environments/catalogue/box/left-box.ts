/**
 * Reads what a rollout left in its sandbox. Files are read by the daemon, not by programs of that sandbox, where processes of the policy may
 * still run; checks run in sandboxes that have only the files that they are given.
 */
import { PrlError } from "../../../errors.ts";
import { type Box, requireRun, type RunLimits, type SandboxPool } from "../../../sandbox/index.ts";
import type { LeftBox } from "../row.ts";

const DEPTH = 32;
const CHECK_LIMITS: RunLimits = {
  wallMs: 20_000,
  cpuMs: 10_000,
  memoryBytes: 512 << 20,
  processes: 16,
  outputBytes: 4 << 20,
};
/** A check is short work behind other short work. */
const QUEUE_MS = 60_000;
const CHECK = "check.py";
const WORK = "/work/";
/** A policy can bring each of them about: there is no such file, it is no file, it is too large, its folder is a file. */
const ABSENT: ReadonlySet<string> = new Set(["PRL_SANDBOX_FILE_UNKNOWN", "PRL_SANDBOX_FILE", "PRL_SANDBOX_TOO_LARGE"]);

/** @param label names the row in the daemon's lists. */
export function leftBox(pool: SandboxPool, box: Box, label: string): LeftBox {
  return {
    list: (path, most) =>
      orNull(async () => {
        const { entries, truncated } = await box.list(path, { depth: DEPTH, maxEntries: most });
        return truncated ? null : entries.map((entry) => ({ ...entry, path: relative(entry.path) }));
      }),
    read: (path, maxBytes) =>
      orNull(async () => {
        // Reading a link would leave the folder that is graded, and reading a pipe would wait for the policy.
        const { kind, bytes } = await box.stat(path);
        return kind === "file" && bytes <= maxBytes ? await box.read(path, { maxBytes }) : null;
      }),
    check: async (program, files) => {
      const result = requireRun(
        await pool.runOnce({
          command: ["python3", CHECK],
          files: { ...files, [CHECK]: program },
          limits: CHECK_LIMITS,
          queueMs: QUEUE_MS,
          labels: { row: label },
        }),
      );
      const { cause, exitCode, stdout, stdoutGap } = result;
      return cause === "EXITED" && exitCode === 0 && stdoutGap === 0 ? stdout.toString("utf8") : null;
    },
  };
}

async function orNull<Result>(work: () => Promise<Result | null>): Promise<Result | null> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof PrlError && ABSENT.has(error.code)) return null;
    throw error;
  }
}

function relative(path: string): string {
  return path.startsWith(WORK) ? path.slice(WORK.length) : path;
}
