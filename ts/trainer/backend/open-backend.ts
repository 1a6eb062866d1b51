/** Opens the backend that the config names. */
import { findInterpreter } from "../../python/index.ts";
import { openTorchBackend } from "../torch/torch-backend.ts";
import type { BackendJob, TrainerBackend } from "./backend.ts";
import { openEngineBackend } from "./engine-backend.ts";

/** Errors: those of the backends; PRL_PYTHON_MISSING for torch without an interpreter. */
export async function openBackend(job: BackendJob): Promise<TrainerBackend> {
  const { backend, python } = job.settings;
  if (backend === "engine") return openEngineBackend(job);
  return openTorchBackend(job, await findInterpreter("torch", python, "trainer.python"));
}
