/** Which part of a run goes to which host, by which way its batches and weights travel, and what is refused. */
import { describe, expect, test } from "vitest";

import { type HostsFile, hostsFileSchema, type Origin, type RlConfig } from "../../../../ts/config/index.ts";
import { rlConfigSchema } from "../../../../ts/config/schema/rl.ts";
import { planHosts } from "../../../../ts/launcher/ssh/host-plan.ts";

const PEM = { tls_cert: "/etc/prl/cert.pem", tls_key: "/etc/prl/key.pem" };
const FILE = new Map<string, Origin>([["host.1.roles", { kind: "file", file: "hosts.toml", line: 9 }]]);

function configOf(more: Record<string, unknown> = {}): RlConfig {
  return rlConfigSchema.parse({
    model: { name: "m" },
    orchestrator: { train: { source: [{ env: { id: "reverse-text" } }] }, ...(more["orchestrator"] as object) },
    run: { name: "mine" },
    trainer: { threads: 4 },
    inference: { threads: 2, ...(more["inference"] as object) },
    ...Object.fromEntries(Object.entries(more).filter(([key]) => !["orchestrator", "inference"].includes(key))),
  });
}

function hostsOf(roles: readonly (readonly string[])[], more: Record<string, unknown> = {}): HostsFile {
  const host = roles.map((own, index) => {
    const pem = own.includes("env-worker") ? PEM : {};
    return { name: `h${index + 1}`, address: `10.0.0.${index + 1}`, dir: "/data", roles: own, ...pem };
  });
  return hostsFileSchema.parse({ host, ...more });
}

const plan = (config: RlConfig, hosts: HostsFile) => planHosts(config, { hosts, hostsProvenance: FILE });
const refusal = (config: RlConfig, hosts: HostsFile): string => {
  try {
    plan(config, hosts);
  } catch (error) {
    return String(error);
  }
  return "";
};

describe("the plan of a run over ssh", () => {
  test("places servers on the hosts in turns, and everything else where its role is", () => {
    const hosts = hostsOf([["trainer", "orchestrator"], ["inference"], ["inference"]]);
    const { parts } = plan(configOf({ inference: { replicas: 3 }, orchestrator: { env_workers: 2 } }), hosts);
    expect(parts.map(({ name, host, kind }) => `${name} ${host.name} ${kind}`)).toEqual([
      "inference-0 h2 serve",
      "inference-1 h3 serve",
      "inference-2 h2 serve",
      "env-worker-0 h1 serve",
      "env-worker-1 h1 serve",
      "trainer-0 h1 work",
      "orchestrator-0 h1 work",
    ]);
    expect(parts.map(({ runDir }) => runDir).slice(0, 2)).toEqual(["/data/h2/mine", "/data/h3/mine"]);
    const [first] = parts;
    expect(first?.config.orchestrator.client.base_url).toEqual([
      "http://10.0.0.2:7302",
      "http://10.0.0.3:7303",
      "http://10.0.0.2:7304",
    ]);
    expect(first?.config.inference.server).toMatchObject({ host: "10.0.0.2", port: 7302 });
  });

  test("sends by files what stays on one host, and by grpc what does not", () => {
    const ways = (roles: readonly (readonly string[])[], more: Record<string, unknown> = {}) => {
      const config = configOf({ ckpt: { path: "/shared/ckpt" }, ...more });
      const { parts } = plan(config, hostsOf(roles, { shared: ["/shared"] }));
      return parts.at(-1)?.config;
    };
    const all = ways([["trainer", "orchestrator", "inference"]]);
    expect([all?.rollout_transport.type, all?.weight_broadcast.type]).toEqual(["filesystem", "filesystem"]);
    const head = ways([["trainer", "orchestrator"], ["inference"]]);
    expect([head?.rollout_transport.type, head?.weight_broadcast.type]).toEqual(["filesystem", "grpc"]);
    expect(head?.weight_broadcast).toMatchObject({ host: "10.0.0.1", port: 7301, connect: "10.0.0.1:7301" });
    const apart = ways([["trainer"], ["orchestrator", "inference"]]);
    expect(apart?.rollout_transport).toMatchObject({ type: "grpc", port: 7300, connect: "10.0.0.1:7300" });
    const asked = ways([["trainer", "orchestrator", "inference"]], { rollout_transport: { type: "grpc" } });
    expect(asked?.rollout_transport.type).toBe("grpc");
  });

  test("reaches parts at their internal address, with brackets where it has colons", () => {
    const hosts = hostsOf([["trainer", "orchestrator"], ["inference"]]);
    const inside = { ...hosts, host: hosts.host.map((host) => ({ ...host, internal_address: "fd00::1" })) };
    const { config } = plan(configOf(), inside).parts[0] ?? {};
    expect(config?.orchestrator.client.base_url).toEqual(["http://[fd00::1]:7302"]);
    expect(config?.weight_broadcast).toMatchObject({ connect: "[fd00::1]:7301", host: "fd00::1" });
  });

  test("gives hosts with the role env-worker at least one worker each, which the orchestrator reaches over TLS", () => {
    const hosts = hostsOf([["trainer", "orchestrator"], ["inference"], ["env-worker"], ["env-worker", "inference"]]);
    const more = { inference: { replicas: 2 }, orchestrator: { remote_env_workers: { tls_ca: "/etc/prl/ca.pem" } } };
    const { parts, hasRemoteWorkers } = plan(configOf(more), hosts);
    expect(hasRemoteWorkers).toBe(true);
    const workers = parts.filter(({ component }) => component === "env-worker");
    expect(workers.map(({ name, host }) => `${name} ${host.name}`)).toEqual(["env-worker-0 h3", "env-worker-1 h4"]);
    expect(workers.map(({ config }) => config.orchestrator.remote_env_workers)).toMatchObject([
      { listen: "10.0.0.3:7304", ...PEM, connect: [] },
      { listen: "10.0.0.4:7305", ...PEM, connect: [] },
    ]);
    expect(parts.at(-1)?.config.orchestrator.remote_env_workers).toMatchObject({
      connect: ["https://10.0.0.3:7304", "https://10.0.0.4:7305"],
      listen: null,
      tls_cert: null,
      tls_ca: "/etc/prl/ca.pem",
    });
    // Every host reads its config by the same rules.
    for (const { config } of parts) expect(rlConfigSchema.safeParse(config).error).toBeUndefined();
    const three = plan(configOf({ ...more, orchestrator: { env_workers: 3 } }), hosts);
    expect(three.parts.filter(({ command }) => command === "env-server").map(({ host }) => host.name)).toEqual([
      "h3",
      "h4",
      "h3",
    ]);
    expect(plan(configOf(), hostsOf([["trainer", "orchestrator"], ["inference"]])).hasRemoteWorkers).toBe(false);
  });

  test("refuses workers of two kinds, and an address to listen on that all parts would have", () => {
    const here = hostsOf([["trainer", "orchestrator", "env-worker"], ["inference"]]);
    const remote = (remote_env_workers: object) => configOf({ orchestrator: { remote_env_workers } });
    expect(refusal(remote({ connect: ["https://127.0.0.1:7443"] }), here)).toContain(
      "orchestrator.remote_env_workers.connect: names env workers that run already, and h1 has the role env-worker",
    );
    expect(refusal(remote({ listen: "10.0.0.1:7443" }), here)).toContain(
      "orchestrator.remote_env_workers.listen: is where a single `prl env-server @` listens",
    );
  });

  test("refuses roles that no host has, and trainers on two hosts, with the place in the file of hosts", () => {
    expect(refusal(configOf(), hostsOf([["trainer", "orchestrator"]]))).toContain("no host has the role inference");
    expect(refusal(configOf(), hostsOf([["orchestrator", "inference"]]))).toContain("no host has the role trainer");
    const two = hostsOf([["trainer", "orchestrator", "inference"], ["trainer"]]);
    expect(refusal(configOf(), two)).toContain("hosts.toml:9: host.1.roles: h2 and h1 both have trainer");
  });

  const apart = [["trainer"], ["orchestrator"], ["inference"]];
  test.each([
    ["ckpt.path: is unset, and the trainer (h1) and the orchestrator (h2)", {}, apart, {}],
    ["ckpt.path: /sharedd/x is in no shared folder", { ckpt: { path: "/sharedd/x" } }, apart, { shared: ["/shared"] }],
    ["ckpt.path: /shared/../x is in no shared", { ckpt: { path: "/shared/../x" } }, apart, { shared: ["/shared"] }],
    [
      "inference.replicas: 1 leaves hosts without work",
      {},
      [["trainer", "orchestrator"], ["inference"], ["inference"]],
      {},
    ],
    [
      "inference.threads: is unset, and the trainer and a server share h1",
      { inference: { threads: null } },
      [["trainer", "orchestrator", "inference"]],
      {},
    ],
    ["trainer.threads: is unset", { trainer: {} }, [["trainer", "orchestrator", "inference"]], {}],
    [
      "inference.threads: is unset, and servers share hosts",
      { inference: { threads: null, replicas: 2 } },
      [["trainer", "orchestrator"], ["inference"]],
      {},
    ],
    ["clean: deletes on this machine only", { clean: true }, [["trainer", "orchestrator"], ["inference"]], {}],
    [
      "inference.backend: the control routes of vLLM",
      { inference: { backend: "vllm" } },
      [["trainer", "orchestrator"], ["inference"]],
      {},
    ],
    [
      'deployment.type: "colocated" is of one machine',
      { deployment: { type: "colocated" } },
      [["trainer", "orchestrator", "inference"]],
      {},
    ],
    [
      "deployment.num_cores: is the launcher's",
      { deployment: { num_cores: 2 } },
      [["trainer", "orchestrator"], ["inference"]],
      {},
    ],
  ])("refuses by key: %s", (message, more, roles, file) => {
    expect(refusal(configOf(more), hostsOf(roles, file))).toContain(message);
  });

  test("refuses ranks that take several batches where the orchestrator is on another host", () => {
    const ranks = (more: object = {}) =>
      configOf({ ckpt: { path: "/shared" }, trainer: { threads: 4, backend: "torch", ranks: 2, ...more } });
    const hosts = hostsOf(apart, { shared: ["/shared"] });
    expect(refusal(ranks(), hosts)).toContain(
      "trainer.ranks: 2 take 2 batches a step, and the trainer (h1) and the orchestrator (h2) are on two hosts",
    );
    // Every host reads its config by the same rules.
    const { parts } = plan(ranks({ parallel: { context: 2 } }), hosts);
    for (const { config } of parts) expect(rlConfigSchema.safeParse(config).error).toBeUndefined();
    expect(refusal(ranks(), hostsOf([["trainer", "orchestrator"], ["inference"]]))).toBe("");
  });

  test("takes a checkpoint folder in a shared one, and the shared one itself", () => {
    for (const path of ["/shared", "/shared/a/b", "/shared/..a"]) {
      expect(refusal(configOf({ ckpt: { path } }), hostsOf(apart, { shared: ["/other", "/shared"] }))).toBe("");
    }
  });
});
