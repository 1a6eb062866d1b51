/** The address that inference servers listen on has to exist. A key for one that other machines reach is made with the run. */
import { placeOf, type Provenance, type RlConfig } from "../../config/index.ts";
import { PrlError } from "../../errors.ts";
import { hostProblem } from "../../inference/internal.ts";

/** Errors: PRL_CONFIG_INVALID at `inference.server.host`. */
export async function checkInferenceHost({ inference }: RlConfig, provenance: Provenance | undefined): Promise<void> {
  const { host } = inference.server;
  const problem = await hostProblem(host, true);
  if (problem === null) return;
  throw new PrlError("PRL_CONFIG_INVALID", `${placeOf(["inference", "server", "host"], provenance)}: ${problem}`);
}
