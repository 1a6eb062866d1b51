/**
 * A deadline for the engine's calls. Its threads are in native code, which nothing inside of the process can stop, and the event loop beside
 * them goes on with its heartbeats. So a process whose call is overdue says which one and kills itself: the launcher starts another one in
 * its place, as for every death. It cannot end in an ordinary way, which would wait for the threads.
 */
import { writeSync } from "node:fs";

import type { TrainerBackend } from "./backend.ts";

const STDERR = 2;

/** The backend, whose calls end within `seconds` or are `overdue`. `close` has to end in that time too. */
export function watchCalls(backend: TrainerBackend, seconds: number, overdue = endProcess): TrainerBackend {
  const watched = async <Result>(name: string, call: () => Promise<Result>): Promise<Result> => {
    const timer = setTimeout(() => overdue(name, seconds), seconds * 1000);
    timer.unref();
    try {
      return await call();
    } finally {
      clearTimeout(timer);
    }
  };
  return {
    ...backend,
    forwardBackward: (batch) =>
      watched("the forward and backward passes of a step", () => backend.forwardBackward(batch)),
    step: (options) => watched("an optimizer step", () => backend.step(options)),
    logprobs: (...tokens) => watched("the scores of the canary", () => backend.logprobs(...tokens)),
    save: (dir) => watched(`the weights in ${dir}`, () => backend.save(dir)),
    saveCheckpoint: (dir) => watched(`the checkpoint in ${dir}`, () => backend.saveCheckpoint(dir)),
    close: () => watched("the end of its last call", () => backend.close()),
  };
}

function endProcess(call: string, seconds: number): void {
  const text = `PRL_DEADLINE: the engine was not ready with ${call} within ${seconds} s (trainer.call_timeout_s); this process is killed, because its threads cannot be stopped\n`;
  try {
    writeSync(STDERR, text);
  } catch {
    // A log that cannot be written does not keep the process alive.
  }
  process.kill(process.pid, "SIGKILL");
}
