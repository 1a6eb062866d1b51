/** `[kubernetes]`: what it takes, and what it refuses. */
import { expect, test } from "vitest";

import { kubernetesBlock } from "../../../../ts/config/schema/clusters/kubernetes.ts";

const problems = (kubernetes: Record<string, unknown>) =>
  (kubernetesBlock.safeParse(kubernetes).error?.issues ?? []).map(
    ({ path, message }) => `${path.join(".")}: ${message}`,
  );

test("is empty by default, and names what has no default", () => {
  expect(problems({})).toEqual([]);
  expect(kubernetesBlock.parse({})).toMatchObject({ image: null, inference_pods: false, gpus: 0, restarts: 6 });
});

test.each([
  [{ namespace: "My_Space" }, "namespace"],
  [{ namespace: "a".repeat(64) }, "namespace"],
  [{ claim: "-runs" }, "claim"],
  [{ claim: "a..b" }, "claim"],
  [{ storage: "10 GB" }, "storage"],
  [{ storage: "10Gi", claim: "runs" }, "storage"],
  [{ storage_class: "fast" }, "storage_class"],
  [{ memory: "64GiB" }, "memory"],
  [{ cpu: "-1" }, "cpu"],
  [{ gpu_resource: "nvidia gpu" }, "gpu_resource"],
  [{ inference_gpus: 1 }, "inference_gpus"],
  [{ node_selector: { "a/b/c": "x" } }, "node_selector"],
  [{ node_selector: { pool: "two words" } }, "node_selector.pool"],
  [{ tolerations: [{ key: "a", operator: "Exists", value: "b" }] }, "tolerations.0.operator"],
  [{ tolerations: [{ value: "b" }] }, "tolerations.0.operator"],
  [{ tolerations: [{ key: "a", value: "" }] }, "tolerations.0.value"],
  [{ env: { "A-B": "c" } }, "env"],
  [{ secrets: ["Hub"] }, "secrets.0"],
  [{ mounts: [{ claim: "models", path: "models" }] }, "mounts.0.path"],
  [{ command: [] }, "command"],
  [{ port: 0 }, "port"],
  [{ replicas: 2 }, ""],
])("refuses %j by its key", (block, key) => {
  const [first = ""] = problems(block);
  expect(first.startsWith(key)).toBe(true);
  expect(problems(block).length).toBeGreaterThan(0);
});

test("takes names and amounts as Kubernetes does", () => {
  expect(
    problems({
      namespace: "ml-team",
      claim: "runs.shared",
      memory: "1.5Gi",
      cpu: "500m",
      gpu_resource: "amd.com/gpu",
      node_selector: { "topology.kubernetes.io/zone": "eu-1a", empty: "" },
      tolerations: [{ operator: "Exists" }],
      mounts: [{ claim: "models", path: "/models" }],
    }),
  ).toEqual([]);
});
