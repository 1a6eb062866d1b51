import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { PrlError } from "../../../ts/errors.ts";
import type { TrainBatch, Trainer } from "../../../ts/native/index.ts";
import { TrainSteps } from "../../../ts/trainer/train-step.ts";
import { sftFolder } from "../../support/training/sft-run.ts";

const NOT_FINITE = new PrlError("PRL_TRAIN_NON_FINITE", "the loss is not finite");
const batch = {} as TrainBatch;

/** Each step's loss, or what it throws; what was done, in order. */
function trained(outcomes: readonly (number | Error)[]) {
  const done: string[] = [];
  let next = 0;
  const trainer = {
    forwardBackward: async () => {
      const outcome = outcomes[next++] ?? 0;
      if (outcome instanceof Error) throw outcome;
      done.push(`loss ${outcome}`);
      return { loss: outcome, metrics: { "entropy/all": 1 } };
    },
    step: async () => {
      done.push("step");
      return { gradNorm: 2 };
    },
  } as unknown as Trainer;
  const metrics = {
    log: () => undefined,
    event: (type: string, fields?: object) => void done.push(`${type} ${JSON.stringify(fields)}`),
    close: () => undefined,
  };
  return { steps: new TrainSteps(trainer, metrics), done };
}

describe("a training step", () => {
  test("changes the weights only when the checkpoint before it is written", async () => {
    const { steps, done } = trained([0.5]);
    let write: () => void = () => undefined;
    const saved = new Promise<void>((resolve) => {
      write = () => {
        done.push("saved");
        resolve();
      };
    });
    const step = steps.take(1, batch, 1, saved);
    await new Promise((resolve) => setImmediate(resolve));
    write();
    expect(await step).toEqual({
      loss: 0.5,
      metrics: { "entropy/all": 1, "optim/grad_norm": 2, "optim/skipped": 0 },
    });
    expect(done).toEqual(["loss 0.5", "saved", "step"]);
  });

  test("that is not finite is skipped and logged; ten in a row end the training, a good one between them starts anew", async () => {
    const nine = Array.from({ length: 9 }, () => NOT_FINITE);
    const { steps, done } = trained([...nine, 1, ...nine, NOT_FINITE]);
    for (let step = 1; step <= 19; step++) {
      const { loss, metrics } = await steps.take(step, batch, 1, Promise.resolve());
      expect([loss, metrics["optim/skipped"]]).toEqual(step === 10 ? [1, 0] : [Number.NaN, 1]);
    }
    await expect(steps.take(20, batch, 1, Promise.resolve())).rejects.toBe(NOT_FINITE);
    expect(done.filter((what) => what.startsWith("step_skipped"))).toHaveLength(19);
    expect(done.filter((what) => what === "step")).toHaveLength(1);
  });

  test("that fails otherwise fails", async () => {
    const { steps } = trained([new PrlError("PRL_ENGINE_CLOSED", "closed")]);
    await expect(steps.take(1, batch, 1, Promise.resolve())).rejects.toMatchObject({ code: "PRL_ENGINE_CLOSED" });
  });

  test("supervised training that has blown up ends, with each step logged", async () => {
    const folder = await sftFolder();
    try {
      const source = await folder.write("rows.jsonl", [{ prompt: "a", completion: "b" }]);
      const config = { max_steps: 50, data: { source, batch_size: 1 }, optim: { lr: 10, weight_decay: 1e30 } };
      await expect(folder.train(config)).rejects.toMatchObject({ code: "PRL_TRAIN_NON_FINITE" });
      const [run = ""] = (await readdir(folder.dir)).filter((name) => name.startsWith("run-"));
      const events = (await readFile(join(folder.dir, run, "events.jsonl"), "utf8")).trim().split("\n");
      expect(events.filter((line) => line.includes("step_skipped"))).toHaveLength(10);
    } finally {
      await folder.remove();
    }
  });
});
