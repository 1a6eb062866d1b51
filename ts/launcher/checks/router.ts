/** Checks that a run with keys about routers trains a model that has some. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";

import { placeOf, type Provenance, type RlConfig } from "../../config/index.ts";
import { PrlError } from "../../errors.ts";
import { countSparseLayers, expertsOf, modelShape, type ModelShape } from "../../models/index.ts";
import { modelFolder } from "../models/base-model.ts";

/** Experts of a model whose last id has all bits of a byte. */
const MOST_BYTES = 256;
const KEYS = ["enable_router_replay", "router_aux_loss_coef", "freeze_moe_router"] as const;

/** Errors: PRL_CONFIG_INVALID naming the key. */
export async function checkRouter(config: RlConfig, provenance: Provenance | undefined): Promise<void> {
  const { trainer } = config;
  const given = KEYS.find((key) => trainer[key] !== false && trainer[key] !== 0);
  if (given === undefined) return;
  const folder = await modelFolder(config.model.name);
  const model: unknown = JSON.parse(await readFile(join(folder, "config.json"), "utf8"));
  const shape = modelShape(model);
  const problem =
    shape?.model_type === "qwen3_moe" ? vllmProblem(config, shape) : "no mixture of experts, and so no router";
  if (problem === null) return;
  const place = placeOf(["trainer", given], provenance);
  throw new PrlError("PRL_CONFIG_INVALID", `${place}: ${config.model.name} has ${problem}`);
}

/** vLLM's rows have all layers, also those without a router, and ids of one byte up to 256 experts: the last id would mean that none is recorded. */
function vllmProblem({ trainer, inference, orchestrator }: RlConfig, shape: ModelShape): string | null {
  const isVllm = inference.backend === "vllm" || orchestrator.client.api === "vllm";
  if (!isVllm || !trainer.enable_router_replay) return null;
  if (countSparseLayers(shape) < shape.num_hidden_layers)
    return "layers without a router, whose experts vLLM cannot leave out";
  const count = expertsOf(shape)?.count ?? 0;
  return count === MOST_BYTES ? `${count} experts, and vLLM's number of the last one means none in a batch` : null;
}
