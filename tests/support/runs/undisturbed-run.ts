/** Undisturbed runs that tests compare disturbed ones with: made once for all test files that want the same one. */
import { createHash } from "node:crypto";
import { access, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import { prl, readJson } from "../prl.ts";
import { sharedFolder } from "./shared-folder.ts";

const DEADLINE_MS = 200_000;

const isThere = (path: string) =>
  access(path).then(
    () => true,
    () => false,
  );

/**
 * The directory of a run that ended well. The first caller makes it, the others wait for it; none of them may change it.
 *
 * @param args of `prl rl`: a config file and keys, without a name
 * @throws when the run fails, in each caller
 */
export async function undisturbedRun(...args: string[]): Promise<string> {
  const key = createHash("sha256").update(JSON.stringify(args)).digest("hex").slice(0, 16);
  const place = join(sharedFolder(), "runs", key);
  const runDir = join(place, "outputs", "undisturbed");
  const [ended, failed] = [join(place, "ended"), join(place, "failed")];
  await mkdir(join(sharedFolder(), "runs"), { recursive: true });
  const isFirst = await mkdir(place).then(
    () => true,
    () => false,
  );
  if (isFirst) {
    const cache = join(sharedFolder(), "cache");
    const { code, stderr } = await prl(["rl", ...args, "--run.name", "undisturbed"], { cwd: place, cache });
    await writeFile(code === 0 ? ended : failed, `exit code ${code}\n${stderr}`);
  }
  for (const end = Date.now() + DEADLINE_MS; Date.now() < end; await sleep(50)) {
    if (await isThere(ended)) return runDir;
    if (await isThere(failed)) throw new Error(`the undisturbed run failed: see ${failed}`);
  }
  throw new Error(`the undisturbed run of another test file did not end: ${args.join(" ")}`);
}

/** The folder of the model that a run began with: that of its warm start. */
export async function modelOfRun(runDir: string): Promise<string> {
  const { model_dir } = await readJson<{ model_dir: string }>(join(runDir, "configs/inference.json"));
  return model_dir;
}
