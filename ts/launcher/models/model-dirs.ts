/** Which folders the processes of a run load their models from: the model that is trained, and the one that a KL term compares it with. */
import { referenceOf, type RlConfig, START_REFERENCE } from "../../config/index.ts";
import { type BaseModel, ensureBaseModel } from "./base-model.ts";

export interface ModelDirs {
  /** The model that the run begins with: its tokenizer and its architecture. */
  readonly modelDir: string;
  /** Digest of the weights under the model's name. */
  readonly baseWeights: string;
  /** The model that a KL term of the loss pulls towards; null: none. */
  readonly referenceDir: string | null;
}

export interface RunOrigin {
  /** The model that the config names. */
  readonly model: BaseModel;
  /** The run does not continue from a checkpoint. */
  readonly isNew: boolean;
  /** The folder of the warm start, from the cache or trained now; null: the config has none. */
  readonly warmStart: (() => Promise<string>) | null;
}

/**
 * The same folders for a run under the launcher and for a trainer that was started alone. The warm start is trained only when the run begins
 * with it, or has to be compared with it.
 *
 * @throws PrlError those of `ensureBaseModel` and `warmStart`
 */
export async function resolveModelDirs(config: RlConfig, origin: RunOrigin): Promise<ModelDirs> {
  const { model, isNew, warmStart } = origin;
  const reference = referenceOf(config.trainer.loss);
  const isWarm = warmStart !== null && (isNew || reference === START_REFERENCE);
  const startDir = isWarm ? await warmStart() : model.dir;
  return {
    modelDir: isNew ? startDir : model.dir,
    baseWeights: model.weights,
    referenceDir: await referenceDirOf(reference, config.seed, startDir),
  };
}

/** The folders of a process that needs the model's tokenizer only: it gets its weights from the trainer. */
export function tokenizerDirs({ dir, weights }: BaseModel): ModelDirs {
  return { modelDir: dir, baseWeights: weights, referenceDir: null };
}

async function referenceDirOf(reference: string | null, seed: number, startDir: string): Promise<string | null> {
  if (reference === null) return null;
  return reference === START_REFERENCE ? startDir : (await ensureBaseModel(reference, seed)).dir;
}
