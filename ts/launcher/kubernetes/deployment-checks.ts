/** Finds the parts of a config that cannot be deployed, and names each by its key. */
import { type KeyPath, placeOf, type Provenance, type RlConfig } from "../../config/index.ts";
import { PrlError } from "../../errors.ts";

interface Refusal {
  readonly key: KeyPath;
  readonly text: string;
}

/** Returns the image. @throws PrlError `PRL_CONFIG_INVALID` with the place of the first key that does not fit */
export function checkDeployment(config: RlConfig, provenance?: Provenance): string {
  const { image } = config.kubernetes;
  const [problem] = [...imageProblem(image), ...podProblems(config)];
  if (problem !== undefined || image === null) {
    const { key, text } = problem ?? { key: ["kubernetes", "image"], text: "is missing" };
    throw new PrlError("PRL_CONFIG_INVALID", `${placeOf(key, provenance)}: ${text}`);
  }
  return image;
}

function* imageProblem(image: string | null): Generator<Refusal> {
  if (image !== null) return;
  yield { key: ["kubernetes", "image"], text: "is unset: name the image of the containers, which has prl" };
}

function* podProblems(config: RlConfig): Generator<Refusal> {
  const { kubernetes: block, deployment, inference, orchestrator, weight_broadcast: broadcast } = config;
  if (!block.inference_pods) return;
  const pods = "inference pods (kubernetes.inference_pods)";
  if (block.claim === null && block.storage === null) {
    const text = `${pods} read the weights from the run's claim, and there is none: set kubernetes.claim or kubernetes.storage`;
    yield { key: ["kubernetes", "inference_pods"], text };
  }
  if (orchestrator.client.base_url.length > 0) {
    yield {
      key: ["orchestrator", "client", "base_url"],
      text: `names servers that run already, and ${pods} are others`,
    };
  }
  if (deployment.type === "colocated") {
    const text = `"colocated" is of one machine, and ${pods} are others: leave them out, or set "single_node"`;
    yield { key: ["deployment", "type"], text };
  }
  if (inference.backend === "vllm") {
    const text = `the control routes of vLLM ask for no key, so that it listens on loopback only: leave out ${pods}, and one pod has the whole run`;
    yield { key: ["inference", "backend"], text };
  }
  if (broadcast.type === "grpc") {
    yield { key: ["weight_broadcast", "type"], text: `${pods} get weights through the run's claim: set "filesystem"` };
  }
}
