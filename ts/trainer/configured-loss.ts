/** `[trainer.loss]` as `openTrainer` takes it: a loss of the engine with its parameters, or a function of the user's. */
import { importUserModule, lossOptions, type RlConfig } from "../config/index.ts";
import { PrlError } from "../errors.ts";
import type { OwnLoss, OwnLossInputs, OwnLossResult, TrainerOptions } from "../native/index.ts";

/** A loss of the user's: the columns of a micro-batch and `args` of the config block to its share of the loss. */
export type CustomLoss = (inputs: OwnLossInputs, args: Record<string, unknown>) => OwnLossResult;

/**
 * Errors: PRL_USER_MODULE when the function cannot be loaded; the loss that is returned throws PRL_USER_MODULE with what the function threw
 * as its cause.
 */
export async function configuredLoss(block: RlConfig["trainer"]["loss"]): Promise<NonNullable<TrainerOptions["loss"]>> {
  if (block.type !== "custom") return lossOptions(block);
  const path = block.path ?? "";
  const loss = await importUserModule(path);
  if (typeof loss !== "function") {
    throw new PrlError(
      "PRL_USER_MODULE",
      `${path}: a loss is a function (inputs, args) => ({ loss, gradLogprobs, metrics })`,
    );
  }
  const own: OwnLoss = (inputs) => {
    try {
      return (loss as CustomLoss)(inputs, block.args);
    } catch (cause) {
      if (cause instanceof PrlError) throw cause;
      const what = cause instanceof Error ? cause.message : String(cause);
      throw new PrlError("PRL_USER_MODULE", `${path}: the loss threw: ${what}`, { cause });
    }
  };
  return own;
}
