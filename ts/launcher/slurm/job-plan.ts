/**
 * The plan of a Slurm job: the roles of a run and the nodes they are on.
 *
 * On one node the launcher runs there as it does without Slurm, so that everything is supported and supervised. On several nodes each part
 * is a separate role: trainer, orchestrator and env workers on the first node, inference servers on the others. They share the run
 * directory, through which batches and weights travel; requests for samples go over the network. What cannot work so is refused by key.
 */
import { ownEnvWorkers, type Provenance, type RlConfig } from "../../config/index.ts";
import { LOOPBACK, partsProblems, type PartsRefusal, refuseFirst } from "../clusters/parts-config.ts";

export interface Role {
  /** Name of its srun and its log: `trainer-0`. */
  readonly name: string;
  /** `work` ends by itself when the run is done, `serve` does not. */
  readonly kind: "work" | "serve";
  /** Number of its node in the job, from 0. */
  readonly node: number;
  /** The sub-command of prl. */
  readonly command: "rl" | "trainer" | "orchestrator" | "env-server" | "inference";
  readonly index: number;
}

/** @throws PrlError `PRL_CONFIG_INVALID` with the place of the key that a job on several nodes cannot have */
export function planRoles(config: RlConfig, provenance?: Provenance): Role[] {
  const { slurm, orchestrator, inference } = config;
  if (slurm.nodes === 1) return [{ name: "rl-0", kind: "work", node: 0, command: "rl", index: 0 }];
  refuseFirst(severalNodesProblems(config), provenance);
  const servers = Array.from({ length: inference.replicas }, (_, index): Role => {
    const node = 1 + (index % (slurm.nodes - 1));
    return { name: `inference-${index}`, kind: "serve", node, command: "inference", index };
  });
  const workers = Array.from({ length: ownEnvWorkers(orchestrator) }, (_, index): Role => {
    return { name: `env-worker-${index}`, kind: "serve", node: 0, command: "env-server", index };
  });
  const works = (["trainer", "orchestrator"] as const).map((command): Role => {
    return { name: `${command}-0`, kind: "work", node: 0, command, index: 0 };
  });
  return [...servers, ...workers, ...works];
}

function* severalNodesProblems(config: RlConfig): Generator<PartsRefusal> {
  const { slurm, inference, weight_broadcast: broadcast } = config;
  const { nodes } = slurm;
  const several = `a job on ${nodes} nodes`;
  const instead = "set slurm.nodes = 1";
  yield* partsProblems(config, { where: several, instead, cores: "set slurm.cpus_per_task" });
  if (broadcast.type === "grpc") {
    const text = `in ${several} weights travel by the file system that its nodes share: set "filesystem"`;
    yield { key: ["weight_broadcast", "type"], text };
  }
  if (inference.replicas < nodes - 1) {
    const text = `${inference.replicas} leaves nodes without work: the first node has trainer and orchestrator, the other ${nodes - 1} at least one server each`;
    yield { key: ["inference", "replicas"], text };
  }
  if (inference.replicas > nodes - 1 && inference.threads === null) {
    const text = `is unset, and ${inference.replicas} servers share ${nodes - 1} nodes: each would take all cores`;
    yield { key: ["inference", "threads"], text };
  }
}

/** Whether the servers listen on the address of their node: the config names none that other nodes reach. */
export function listensOnNode({ inference }: RlConfig): boolean {
  return inference.server.host === LOOPBACK;
}
