/** `[trainer.loss]` as `openTrainer` takes it: a loss of the engine with its parameters, or a custom function. */
import { lossOptions, type RlConfig } from "../../config/index.ts";
import type { TrainerOptions } from "../../native/index.ts";
import { LossThread } from "./loss-thread.ts";

export interface ConfiguredLoss {
  readonly loss: NonNullable<TrainerOptions["loss"]>;
  close(): Promise<void>;
}

/** Errors: those of `LossThread.open`. */
export async function configuredLoss(block: RlConfig["trainer"]["loss"]): Promise<ConfiguredLoss> {
  if (block.type !== "custom") return { loss: lossOptions(block), close: async () => undefined };
  const thread = await LossThread.open(block.path ?? "", block.args, block.deadline_s ?? undefined);
  return { loss: thread.ask, close: () => thread.close() };
}
