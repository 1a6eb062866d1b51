/**
 * Runs a custom loss in a separate thread, so that a loss that never ends delays the trainer only until its deadline.
 *
 * The caller's thread stands still during the call: the engine waits between a micro-batch's forward and backward pass and has no other
 * work. This file knows no loss: it sends columns and gets the function's result.
 */
import { MessageChannel, receiveMessageOnPort, Worker } from "node:worker_threads";

import { isErrorCode, PrlError } from "../../errors.ts";
import type { CustomLoss, CustomLossInputs, CustomLossResult } from "../../native/index.ts";
import { atMost, withDeadline } from "../../async/deadline.ts";
import { threadScript } from "../../async/thread-script.ts";
import type { LossAnswer, LossThreadData } from "./loss-worker.ts";

/** Deadline for one micro-batch. The launcher counts a process as dead that stands still for 30 s. */
export const LOSS_DEADLINE_S = 20;
/** Deadline for loading the user's module. */
const START_MS = 60_000;
/** Time to end the thread, which is enough because JavaScript ends at once. */
const END_MS = 2_000;

export class LossThread {
  readonly #worker: Worker;
  readonly #port: MessageChannel["port1"];
  readonly #answered: Int32Array;
  readonly #path: string;
  readonly #deadlineMs: number;

  private constructor(path: string, args: Record<string, unknown>, deadlineMs: number) {
    const { port1, port2 } = new MessageChannel();
    this.#port = port1;
    this.#answered = new Int32Array(new SharedArrayBuffer(4));
    this.#path = path;
    this.#deadlineMs = deadlineMs;
    const workerData: LossThreadData = { path, args, port: port2, answered: this.#answered };
    this.#worker = new Worker(threadScript(new URL("./loss-worker.js", import.meta.url)), {
      workerData,
      transferList: [port2],
      execArgv: [],
    });
    this.#worker.unref();
  }

  /** Loads the function. Errors: PRL_USER_MODULE; PRL_LOSS_DEADLINE when its module is not loaded in time. */
  static async open(
    path: string,
    args: Record<string, unknown>,
    deadlineS: number = LOSS_DEADLINE_S,
  ): Promise<LossThread> {
    const thread = new LossThread(path, args, deadlineS * 1000);
    try {
      const loaded = new Promise<LossAnswer>((resolve, reject) => {
        thread.#port.once("message", resolve);
        thread.#worker.once("error", reject);
      });
      await withDeadline(
        loaded.then((answer) => thread.#unpack(answer)),
        START_MS,
        () => thread.#late("its module was not loaded", START_MS),
      );
      // From now on answers are read synchronously, not by events.
      thread.#port.unref();
      return thread;
    } catch (error) {
      await thread.close();
      throw error;
    }
  }

  /**
   * Calls the function; after PRL_LOSS_DEADLINE it is gone. Errors: PRL_USER_MODULE with the thrown error as the cause, or its
   * PrlError.
   */
  readonly ask: CustomLoss = (inputs: CustomLossInputs): CustomLossResult => {
    Atomics.store(this.#answered, 0, 0);
    this.#port.postMessage(inputs);
    if (Atomics.wait(this.#answered, 0, 0, this.#deadlineMs) === "timed-out") {
      void this.#worker.terminate();
      throw this.#late(`it did not return for ${inputs.mask.length} tokens`, this.#deadlineMs);
    }
    const received: { message: LossAnswer } | undefined = receiveMessageOnPort(this.#port);
    if (received === undefined) throw new PrlError("PRL_USER_MODULE", `${this.#path}: the loss ended its thread`);
    return this.#unpack(received.message) as CustomLossResult;
  };

  /** A thread that stands still outside JavaScript cannot be ended: it ends with the process. */
  async close(): Promise<void> {
    this.#port.close();
    await atMost(this.#worker.terminate(), END_MS);
  }

  #unpack(answer: LossAnswer): unknown {
    if ("result" in answer) return answer.result;
    const { code, error: cause } = answer;
    if (code !== null && isErrorCode(code)) throw new PrlError(code, cause.message, { cause: cause.cause });
    throw new PrlError("PRL_USER_MODULE", `${this.#path}: the loss threw: ${cause.message}`, { cause });
  }

  #late(what: string, ms: number): PrlError {
    const advice = "mend what never ends in it, or raise trainer.loss.deadline_s";
    return new PrlError("PRL_LOSS_DEADLINE", `${this.#path}: ${what} within ${ms / 1000} s: ${advice}`);
  }
}
