/**
 * The kustomize folder of a run, `<run>/kubernetes/`, as texts by file name: a Job with the run, its claim, and the inference servers with stable DNS
 * names. ConfigMap and Secret are made by `kubectl` from the files beside them: the manifests have neither config nor key.
 */
import { type RlConfig, tomlWithOrigins } from "../../config/index.ts";
import type { ResumeRequest } from "../run/resume-run.ts";
import { labelsOf, objectName } from "./names.ts";
import { inferencePod, PLACES, type PodPlan, runPod } from "./pods.ts";
import { START } from "./start-script.ts";
import { toYaml, type Yaml } from "./yaml.ts";

export interface Deployment {
  readonly config: RlConfig;
  /** Name of the run. */
  readonly run: string;
  /** Image of the containers. */
  readonly image: string;
  /** Distinguishes this start from others of the run. */
  readonly start: string;
  readonly resume: ResumeRequest | undefined;
}

/** Names of files in the folder that are not manifests. */
export const FOLDER_FILES = {
  config: "rl.toml",
  script: "start.sh",
  key: "key.env",
  applied: "applied.json",
} as const;

/** Exit code of a config or a command line that is wrong: another start would end the same. */
const WRONG_INPUT = 2;

export function renderDeployment(deployment: Deployment): Map<string, string> {
  const { config, run } = deployment;
  const { kubernetes: block } = config;
  const name = objectName(run);
  const plan: PodPlan = {
    name,
    block,
    image: deployment.image,
    claim: block.claim ?? (block.storage === null ? null : name),
  };
  const manifests = new Map<string, readonly Yaml[]>([
    ...(block.storage === null ? [] : [["claim.yaml", [claimOf(plan)]] as const]),
    ["run.yaml", [jobOf(plan, deployment)]],
    ...(block.inference_pods ? [["inference.yaml", serversOf(plan, deployment)] as const] : []),
  ]);
  const texts = [...manifests].map(
    ([file, objects]) => [file, objects.map((one) => toYaml(one)).join("---\n")] as const,
  );
  return new Map([
    ["kustomization.yaml", toYaml(kustomization(plan, [...manifests.keys()]))],
    ...texts,
    [FOLDER_FILES.config, tomlWithOrigins(configOfPods(deployment, name), new Map())],
    [FOLDER_FILES.script, START],
  ]);
}

/** The addresses of the inference pods, by the names that a StatefulSet gives them. */
export function serverAddresses(name: string, { kubernetes, inference }: RlConfig): string[] {
  const service = `${name}-inference`;
  return Array.from(
    { length: inference.replicas },
    (_, index) => `http://${service}-${index}.${service}:${kubernetes.port}`,
  );
}

/** The config that the pod of the run reads. */
function configOfPods({ config, run }: Deployment, name: string): RlConfig {
  const { kubernetes: block, inference, orchestrator } = config;
  const { client } = orchestrator;
  const weights = `${PLACES.runs}/${run}/weights`;
  return {
    ...config,
    clean: false,
    run: { ...config.run, name: run },
    output_dir: PLACES.runs,
    trainer: { ...config.trainer, output_dir: PLACES.runs },
    // The servers have run directories that are not that of the run.
    inference: block.inference_pods
      ? { ...inference, server: { ...inference.server, weight_roots: [...inference.server.weight_roots, weights] } }
      : inference,
    orchestrator: {
      ...orchestrator,
      output_dir: PLACES.runs,
      client: block.inference_pods ? { ...client, base_url: serverAddresses(name, config) } : client,
    },
  };
}

function kustomization({ name, block }: PodPlan, resources: readonly string[]): Yaml {
  return {
    apiVersion: "kustomize.config.k8s.io/v1beta1",
    kind: "Kustomization",
    ...(block.namespace !== null && { namespace: block.namespace }),
    resources,
    configMapGenerator: [{ name, files: [FOLDER_FILES.config, FOLDER_FILES.script] }],
    secretGenerator: [{ name, envs: [FOLDER_FILES.key], type: "Opaque" }],
    generatorOptions: { disableNameSuffixHash: true, labels: labelsOf(name) },
  };
}

function claimOf({ name, block }: PodPlan): Yaml {
  return {
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    metadata: { name, labels: labelsOf(name) },
    spec: {
      accessModes: [block.inference_pods ? "ReadWriteMany" : "ReadWriteOnce"],
      ...(block.storage_class !== null && { storageClassName: block.storage_class }),
      resources: { requests: { storage: block.storage ?? "" } },
    },
  };
}

function jobOf(plan: PodPlan, { run, start, resume }: Deployment): Yaml {
  const { name, block } = plan;
  const mark = `${PLACES.data}/starts/${start}`;
  const first = resume === undefined ? "new" : String(resume);
  const words = [mark, `${PLACES.runs}/${run}`, first];
  return {
    apiVersion: "batch/v1",
    kind: "Job",
    metadata: { name, labels: labelsOf(name, "run") },
    spec: {
      backoffLimit: block.restarts,
      podFailurePolicy: {
        rules: [
          {
            action: "FailJob",
            onExitCodes: { containerName: "run", operator: "In", values: [WRONG_INPUT] },
          },
          // A node that is drained or lost is no failure of the run.
          { action: "Ignore", onPodConditions: [{ type: "DisruptionTarget", status: "True" }] },
        ],
      },
      template: runPod(plan, words, ["rl", `${PLACES.config}/${FOLDER_FILES.config}`]),
    },
  };
}

function serversOf(plan: PodPlan, { config, run }: Deployment): Yaml[] {
  const { name, block } = plan;
  const service = `${name}-inference`;
  const place = ["--run-dir", `${PLACES.serve}/${run}`, "--index", "0"];
  const address = ["--inference.server.host", "0.0.0.0", "--inference.server.port", String(block.port)];
  const args = ["inference", "@", `${PLACES.config}/${FOLDER_FILES.config}`, ...place, ...address];
  return [
    headless(service, labelsOf(name, "inference"), { name: "http", port: block.port, targetPort: "http" }),
    {
      apiVersion: "apps/v1",
      kind: "StatefulSet",
      metadata: { name: service, labels: labelsOf(name, "inference") },
      spec: {
        serviceName: service,
        replicas: config.inference.replicas,
        podManagementPolicy: "Parallel",
        selector: { matchLabels: labelsOf(name, "inference") },
        template: inferencePod(plan, args),
      },
    },
  ];
}

/** A service that gives each pod a name. Pods have theirs before they are ready, because the run asks them itself. */
function headless(name: string, labels: ReturnType<typeof labelsOf>, port: Yaml): Yaml {
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name, labels },
    spec: { clusterIP: "None", publishNotReadyAddresses: true, selector: labels, ports: [port] },
  };
}
