/** The thread of `loss-thread.ts`: loads the user's function, then answers one call after the other. */
import { type MessagePort, workerData } from "node:worker_threads";

import { importUserModule } from "../../config/index.ts";
import { PrlError } from "../../errors.ts";
import type { CustomLossInputs } from "../../native/index.ts";

export interface LossThreadData {
  /** `./my.ts#name` */
  path: string;
  /** Second argument of the function. */
  args: Record<string, unknown>;
  port: MessagePort;
  /** [0] becomes 1 with each answer; the caller waits on it. */
  answered: Int32Array;
}

/** The function's result or its error, with the code of a PrlError, which a copy would lose. */
export type LossAnswer = { result: unknown } | { code: string | null; error: Error };

const { path, args, port, answered } = workerData as LossThreadData;

function answer(work: () => unknown): void {
  try {
    const result = work();
    if (result instanceof Promise) throw new PrlError("PRL_LOSS_INPUT", "the loss function returned a promise");
    port.postMessage({ result } satisfies LossAnswer);
  } catch (cause) {
    const error = cause instanceof Error ? cause : new Error(String(cause));
    port.postMessage({ code: error instanceof PrlError ? error.code : null, error } satisfies LossAnswer);
  }
  Atomics.store(answered, 0, 1);
  Atomics.notify(answered, 0);
}

let loss: (inputs: CustomLossInputs, args: Record<string, unknown>) => unknown;
try {
  const loaded = await importUserModule(path);
  if (typeof loaded !== "function") {
    const what = "a loss is a function (inputs, args) => ({ loss, gradLogprobs, metrics })";
    throw new PrlError("PRL_USER_MODULE", `${path}: ${what}`);
  }
  loss = loaded as typeof loss;
  answer(() => null);
} catch (cause) {
  answer(() => {
    throw cause;
  });
}
port.on("message", (inputs: CustomLossInputs) => answer(() => loss(inputs, args)));
