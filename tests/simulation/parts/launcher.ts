/** The launcher of a simulated run: the product's supervision, fleets, take-over and way back to a checkpoint, around programs that are simulated. */
import { mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";

import type { RlConfig } from "../../../ts/config/index.ts";
import { explain } from "../../../ts/errors.ts";
import { ifThere } from "../../../ts/files/file-presence.ts";
import { METRICS_FILE, MetricsTail } from "../../../ts/monitors/index.ts";
import { type RlRun, runRlProcesses } from "../../../ts/launcher/processes/rl-processes.ts";
import { isOfOthers } from "../../../ts/launcher/run/recovery.ts";
import { clearLaterSteps } from "../../../ts/launcher/run/resume-run.ts";
import { runStage } from "../../../ts/launcher/run/stage.ts";
import type { Supervisor } from "../../../ts/launcher/processes/supervisor.ts";
import { findCheckpoint } from "../../../ts/transports/index.ts";
import type { SimulatedProcess, World } from "../world/world.ts";

export const RUN = "run";
/** Silence of a process that is taken for its death. */
const SILENCE_MS = 3_000;
const INTERRUPTED = 130;

/** Starts the run, or goes on with it; 0 when it is completed. */
export async function launcher(
  world: World,
  process: SimulatedProcess,
  config: RlConfig,
  runDir: string,
): Promise<number> {
  const checkpoints = join(runDir, "checkpoints");
  const note = (message: string): void => world.note(`launcher: ${message.replaceAll(runDir, "<run>")}`);
  const begin = async (isKept?: (name: string) => boolean): Promise<RlRun> => {
    const resume = await findCheckpoint(checkpoints, RUN);
    await clearLaterSteps(runDir, checkpoints, resume?.step ?? 0, isKept);
    const attempt = ((await ifThere(readdir(join(runDir, "logs")), runDir)) ?? []).length + 1;
    const logs = join(runDir, "logs", `attempt_${attempt}`);
    await mkdir(logs, { recursive: true });
    await mkdir(join(runDir, "run"), { recursive: true });
    note(`attempt ${attempt} from step ${resume?.step ?? 0}`);
    const dirs = { modelDir: runDir, baseWeights: "none", referenceDir: null };
    return { config, base: { runId: RUN, runDir, logs, attempt, checkpoints, resume, needsSandboxes: false, ...dirs } };
  };
  try {
    const run = await begin();
    let supervised: Supervisor | undefined;
    const stage = {
      runDir,
      tail: new MetricsTail(join(runDir, METRICS_FILE)),
      onLine: (line: Parameters<Supervisor["furthest"]["note"]>[0]) => supervised?.furthest.note(line),
      signal: process.stopping.signal,
      silenceMs: SILENCE_MS,
    };
    await runStage(stage, async (supervisor) => {
      supervised = supervisor;
      await runRlProcesses(supervisor, run, {
        onReady: () => note("the run is at work"),
        note,
        onRestart: ({ component, index }) => note(`${component}-${index} is started again`),
        goBack: () => begin(isOfOthers),
      });
    });
    await writeFile(join(runDir, "summary.json"), JSON.stringify({ status: "completed", steps: config.max_steps }));
    return 0;
  } catch (error) {
    note(explain(error));
    return process.stopping.signal.aborted ? INTERRUPTED : 1;
  }
}
