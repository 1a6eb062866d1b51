/** A Slurm for tests: programs that check their arguments and run the steps of one job as processes of this machine. */
import { chmod, mkdir, readFile, writeFile } from "node:fs/promises";
import { delimiter, join } from "node:path";

const PROGRAMS = ["sbatch", "srun", "scancel", "squeue", "sinfo", "scontrol"];
const PROGRAM = join(import.meta.dirname, "fake-slurm-programs.mjs");

export interface FakeSlurm {
  /** With the programs first in PATH. */
  readonly env: Record<string, string>;
  /** Every call so far. */
  readonly calls: () => Promise<{ name: string; args: string[]; cwd: string }[]>;
  /** What the programs answer from now on. */
  readonly answer: (state: Readonly<Record<string, unknown>>) => Promise<void>;
}

/** Makes it in `dir`. */
export async function fakeSlurm(dir: string): Promise<FakeSlurm> {
  const [bin, home] = [join(dir, "bin"), join(dir, "slurm-state")];
  await mkdir(bin, { recursive: true });
  await mkdir(home, { recursive: true });
  for (const name of PROGRAMS) {
    const file = join(bin, name);
    await writeFile(file, `#!/bin/sh\nexec '${process.execPath}' '${PROGRAM}' ${name} "$@"\n`);
    await chmod(file, 0o755);
  }
  const answer = (state: Readonly<Record<string, unknown>>) =>
    writeFile(join(home, "state.json"), JSON.stringify({ state: "RUNNING", nodes: ["n1", "n2"], jobs: {}, ...state }));
  await answer({});
  return {
    env: { PATH: `${bin}${delimiter}${process.env["PATH"] ?? ""}`, FAKE_SLURM: home },
    calls: async () => {
      const text = await readFile(join(home, "calls.jsonl"), "utf8").catch(() => "");
      return text
        .split("\n")
        .filter((line) => line !== "")
        .map((line) => JSON.parse(line) as { name: string; args: string[]; cwd: string });
    },
    answer,
  };
}
