/** Inference servers that other machines can reach need a key: without it the run ends before anything is started. */
import { placeOf, type Provenance, type RlConfig } from "../../config/index.ts";
import { PrlError } from "../../errors.ts";
import { hostProblem } from "../../inference/index.ts";
import { transportToken } from "../../transports/index.ts";

/** Errors: PRL_CONFIG_INVALID at `inference.server.host`. */
export async function checkInferenceHost({ inference }: RlConfig, provenance: Provenance | undefined): Promise<void> {
  const { host } = inference.server;
  const problem = await hostProblem(host, transportToken(process.env));
  if (problem === null) return;
  throw new PrlError("PRL_CONFIG_INVALID", `${placeOf(["inference", "server", "host"], provenance)}: ${problem}`);
}
