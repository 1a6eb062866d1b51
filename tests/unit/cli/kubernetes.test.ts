/** `prl rl --kubernetes` and `prl kubernetes` against a stand-in for kubectl, which notes its arguments: no cluster is here. */
import { mkdir, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";

import { runCommandLine } from "../../../ts/cli/dispatch.ts";
import { type FakeKubectl, fakeKubectl } from "../../support/clusters/fake-kubectl.ts";
import { temporaryFolder } from "./runs/run-fixture.ts";
import { prl } from "./run.ts";

const CONFIG = `max_steps = 3
[run]
name = "mine"
[model]
name = "org/model"
[kubernetes]
image = "registry.example/prl:1.0"
context = "lab"
namespace = "ml"
storage = "10Gi"
[[orchestrator.train.source]]
env = { id = "reverse-text" }
`;
const PLACE = ["--context=lab", "--namespace=ml"];
const SELECTOR = "--selector=app.kubernetes.io/name=prl,app.kubernetes.io/instance=prl-mine";
/** Whether the cluster has a run of this name already. */
const LOOK = ["get", "job,statefulset", SELECTOR, "--output=json", ...PLACE];
const POD = {
  kind: "Pod",
  metadata: { name: "prl-mine-abcde" },
  spec: { nodeName: "n1" },
  status: { phase: "Running", containerStatuses: [{ ready: true, restartCount: 2, state: { running: {} } }] },
};
const JOB = { kind: "Job", metadata: { name: "prl-mine" }, status: { active: 1, failed: 1 } };
const ENDED = { ...JOB, status: { failed: 1, conditions: [{ type: "Failed", status: "True" }] } };
/** Whether the Job of the run is at work. */
const LOOK_AT_JOB = ["get", "job", SELECTOR, "--output=json", ...PLACE];

interface Place {
  readonly folder: string;
  readonly kubectl: FakeKubectl;
  readonly runDir: string;
  readonly run: (...args: string[]) => ReturnType<typeof prl>;
}

async function place(): Promise<Place> {
  const folder = await temporaryFolder();
  await writeFile(join(folder, "rl.toml"), CONFIG);
  const kubectl = await fakeKubectl(folder);
  return { folder, kubectl, runDir: join(folder, "outputs/mine"), run: (...args) => prl(args, folder, kubectl.env) };
}

async function applied(): Promise<Place> {
  const here = await place();
  const { code, stderr } = await here.run("rl", "rl.toml", "--kubernetes");
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  return here;
}

describe("prl rl --kubernetes", () => {
  test("writes the folder and applies it; the keys are in one file of the user and nowhere else", async () => {
    const { kubectl, runDir, run } = await place();
    const { code, stdout, stderr } = await run("rl", "rl.toml", "--kubernetes");
    expect({ code, stdout, stderr }).toEqual({
      code: 0,
      stdout: "Applied prl-mine; prl kubernetes status mine shows it\n",
      stderr: "",
    });
    const folder = join(runDir, "kubernetes");
    expect(await kubectl.calls()).toEqual([LOOK, ["apply", "--kustomize", folder, ...PLACE]]);
    const keys = await readFile(join(folder, "key.env"), "utf8");
    expect(keys).toMatch(/^PRL_TRANSPORT_TOKEN=[0-9a-f]{64}\n$/u);
    expect((await stat(join(folder, "key.env"))).mode & 0o777).toBe(0o600);
    for (const file of (await readdir(folder)).filter((name) => name !== "key.env")) {
      const text = await readFile(join(folder, file), "utf8");
      for (const [, key = ""] of keys.matchAll(/=(.*)\n/gu)) expect([file, text.includes(key)]).toEqual([file, false]);
    }
  });

  test("with --dry-run writes it, and calls nothing", async () => {
    const { kubectl, runDir, run } = await place();
    const { code, stdout } = await run("rl", "rl.toml", "--kubernetes", "--dry-run", "--json");
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toEqual({
      run: "mine",
      run_dir: runDir,
      folder: join(runDir, "kubernetes"),
      name: null,
    });
    expect((await readdir(join(runDir, "kubernetes"))).toSorted()).toEqual([
      "claim.yaml",
      "key.env",
      "kustomization.yaml",
      "rl.toml",
      "run.yaml",
      "start.sh",
    ]);
    expect(await kubectl.calls()).toEqual([]);
  });

  test("with --resume replaces the Job, keeps the keys, and says what to go on from", async () => {
    const { kubectl, runDir, run } = await applied();
    const keys = await readFile(join(runDir, "kubernetes/key.env"), "utf8");
    const again = await run("rl", "rl.toml", "--kubernetes");
    expect([again.code, again.stderr]).toEqual([2, expect.stringContaining("was applied to a cluster before")]);
    expect((await run("rl", "rl.toml", "--kubernetes", "--resume")).code).toBe(0);
    expect((await kubectl.calls()).slice(2)).toEqual([
      LOOK_AT_JOB,
      [
        "delete",
        // Servers that an earlier start has had would keep their GPUs.
        "job,statefulset,service",
        SELECTOR,
        "--ignore-not-found",
        "--cascade=foreground",
        "--wait=true",
        "--timeout=180s",
        ...PLACE,
      ],
      ["apply", "--kustomize", join(runDir, "kubernetes"), ...PLACE],
    ]);
    expect(await readFile(join(runDir, "kubernetes/key.env"), "utf8")).toBe(keys);
    expect(await readFile(join(runDir, "kubernetes/run.yaml"), "utf8")).toContain("- latest\n");
  });

  test("with --clean begins a run again whose files went with its pod, and refuses one whose files are in a claim", async () => {
    const kept = await applied();
    const refused = await kept.run("rl", "rl.toml", "--kubernetes", "--clean");
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining("where --clean deletes nothing")]);
    expect(await kept.kubectl.calls()).toHaveLength(2);
    expect(await readdir(join(kept.runDir, "kubernetes"))).toContain("applied.json");
    const { kubectl, runDir, run } = await place();
    const lost = ["rl", "rl.toml", "--kubernetes", "--kubernetes.storage", "None"];
    expect((await run(...lost)).code).toBe(0);
    const again = await run(...lost, "--clean");
    expect([again.code, again.stderr]).toEqual([0, ""]);
    expect((await kubectl.calls()).slice(2).map(([verb]) => verb)).toEqual(["get", "delete", "apply"]);
    expect(await readFile(join(runDir, "kubernetes/run.yaml"), "utf8")).toContain("- new\n");
  });

  test("refuses to go on with a run that is at work, and changes nothing of it", async () => {
    const { kubectl, runDir, run } = await applied();
    const manifest = await readFile(join(runDir, "kubernetes/run.yaml"), "utf8");
    for (const job of [JOB, { kind: "Job", metadata: { name: "prl-mine" } }]) {
      await kubectl.answer({ stdout: JSON.stringify({ items: [job] }), only: "get" });
      const refused = await run("rl", "rl.toml", "--kubernetes", "--resume");
      expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining("[PRL_RUN_LOCKED] the Job prl-mine")]);
      expect((await kubectl.calls()).at(-1)).toEqual(LOOK_AT_JOB);
    }
    expect(await readFile(join(runDir, "kubernetes/run.yaml"), "utf8")).toBe(manifest);
    const deleted = { ...JOB, metadata: { name: "prl-mine", deletionTimestamp: "2026-01-01T00:00:00Z" } };
    await kubectl.answer({ stdout: JSON.stringify({ items: [ENDED, deleted] }), only: "get" });
    expect((await run("rl", "rl.toml", "--kubernetes", "--resume")).code).toBe(0);
  });

  test("with --resume leaves inference pods that the run still has, unless they have the key of another directory", async () => {
    const resume = ["rl", "rl.toml", "--kubernetes", "--resume", "--kubernetes.inference_pods", "true"];
    const deleted = async ({ kubectl, run }: Place) => {
      expect((await run(...resume)).code).toBe(0);
      return (await kubectl.calls()).find(([verb]) => verb === "delete")?.[1];
    };
    expect(await deleted(await applied())).toBe("job");
    const other = await place();
    expect((await other.run("rl", "rl.toml", "--kubernetes", "--dry-run")).code).toBe(0);
    expect(await deleted(other)).toBe("job,statefulset,service");
  });

  test("refuses another place while objects of the run are in the one that it was applied to", async () => {
    const { kubectl, runDir, run } = await place();
    await kubectl.answer({ stderr: "error: exceeded quota", code: 1, only: "apply" });
    expect((await run("rl", "rl.toml", "--kubernetes")).code).toBe(1);
    const record = await readFile(join(runDir, "kubernetes/applied.json"), "utf8");
    const elsewhere = ["rl", "rl.toml", "--kubernetes", "--kubernetes.context", "other"];
    for (const more of [[], ["--resume"]]) {
      await kubectl.answer({ stdout: JSON.stringify({ items: [ENDED] }), only: "get" });
      const refused = await run(...elsewhere, ...more);
      expect([refused.code, refused.stderr]).toEqual([
        2,
        expect.stringContaining("was applied to context lab, namespace ml, where its objects are"),
      ]);
      expect((await kubectl.calls()).at(-1)).toEqual(LOOK);
      expect(await readFile(join(runDir, "kubernetes/applied.json"), "utf8")).toBe(record);
    }
    await kubectl.answer({ only: "nothing" });
    expect((await run(...elsewhere)).code).toBe(0);
    expect(await readFile(join(runDir, "kubernetes/applied.json"), "utf8")).toContain('"context": "other"');
  });

  test("stays in the context and the namespace that kubectl has had, where the config names none", async () => {
    const { kubectl, runDir, run } = await place();
    const unnamed = ["rl", "rl.toml", "--kubernetes", "--kubernetes.context", "None", "--kubernetes.namespace", "None"];
    const contexts = [
      { name: "lab", context: { cluster: "one", namespace: "ml" } },
      { name: "other", context: { cluster: "two" } },
    ];
    const choose = (current: string) =>
      kubectl.answer({ stdout: JSON.stringify({ "current-context": current, contexts }), only: "config" });
    await choose("lab");
    expect((await run(...unnamed)).code).toBe(0);
    const apply = ["apply", "--kustomize", join(runDir, "kubernetes"), ...PLACE];
    expect(await kubectl.calls()).toEqual([["config", "view", "--output=json"], LOOK, apply]);
    await choose("other");
    expect((await run("kubernetes", "delete", "mine")).code).toBe(0);
    expect((await kubectl.calls()).at(-1)?.slice(-2)).toEqual(PLACE);
    expect((await run(...unnamed, "--resume")).code).toBe(0);
    expect((await kubectl.calls()).at(-1)?.slice(-2)).toEqual(["--context=other", "--namespace=default"]);
    await kubectl.answer({ stdout: JSON.stringify({ "current-context": "", contexts: null }), only: "config" });
    expect((await run(...unnamed, "--run.name", "in-pod")).code).toBe(0);
    expect((await kubectl.calls()).at(-1)).toEqual(["apply", "--kustomize", expect.stringContaining("in-pod")]);
  });

  test("refuses the name of a run that was applied from another directory, unless it is to go on", async () => {
    const { kubectl, run } = await place();
    await kubectl.answer({ stdout: JSON.stringify({ items: [ENDED] }), only: "get" });
    const refused = await run("rl", "rl.toml", "--kubernetes");
    expect([refused.code, refused.stderr]).toEqual([
      2,
      expect.stringContaining("the cluster has a run prl-mine that was applied from another directory"),
    ]);
    expect(await kubectl.calls()).toEqual([LOOK]);
    expect((await run("kubernetes", "delete", "mine")).stderr).toContain("no run was applied to a cluster from");
    expect((await run("rl", "rl.toml", "--kubernetes", "--resume")).code).toBe(0);
    expect((await kubectl.calls()).slice(1).map(([verb]) => verb)).toEqual(["get", "delete", "apply"]);
  });

  test("notes what kubectl has refused, so that the objects which it made are found, and replaces their Job at the next try", async () => {
    const { kubectl, runDir, run } = await place();
    await kubectl.answer({
      stdout: "job.batch/prl-mine created\n",
      stderr: "error: exceeded quota",
      code: 1,
      only: "apply",
    });
    expect((await run("rl", "rl.toml", "--kubernetes")).code).toBe(1);
    await kubectl.answer({ stdout: JSON.stringify({ items: [JOB] }) });
    expect((await run("kubernetes", "status", "mine")).stdout).toContain("job/prl-mine  active, 1 failed pod\n");
    expect((await run("kubernetes", "delete", "mine")).code).toBe(0);
    const count = (await kubectl.calls()).length;
    const again = await run("rl", "rl.toml", "--kubernetes");
    expect([again.code, again.stderr]).toEqual([0, ""]);
    expect((await kubectl.calls()).slice(count).map(([verb]) => verb)).toEqual(["delete", "apply"]);
    expect(await readFile(join(runDir, "kubernetes/run.yaml"), "utf8")).toContain("- new\n");
    expect((await run("rl", "rl.toml", "--kubernetes")).stderr).toContain("was applied to a cluster before");
  });

  test.each([
    [["--kubernetes", "--kubernetes.image", "None"], 2, "kubernetes.image"],
    [["--kubernetes", "--slurm"], 2, "one of --slurm and --kubernetes"],
    [["--kubernetes", "--kubernetes.claim", "c"], 2, "kubernetes.storage"],
    [["--kubernetes", "--run.name", "other", "--resume"], 2, "no run"],
  ])("refuses %j by name", async (args, exit, text) => {
    const { kubectl, run } = await place();
    const { code, stderr } = await run("rl", "rl.toml", ...args);
    expect([code, stderr]).toEqual([exit, expect.stringContaining(text)]);
    expect(await kubectl.calls()).toEqual([]);
  });

  test("names what kubectl refuses, and that there is none", async () => {
    const { kubectl, run } = await place();
    await kubectl.answer({ stderr: "error: you must be logged in to the server", code: 1, only: "apply" });
    const refused = await run("rl", "rl.toml", "--kubernetes");
    expect([refused.code, refused.stderr]).toEqual([
      1,
      expect.stringContaining("kubectl apply refused: error: you must"),
    ]);
    await kubectl.answer({ stdout: "x".repeat(65 * 2 ** 20), only: "apply" });
    const endless = await run("rl", "rl.toml", "--kubernetes", "--run.name", "endless");
    expect([endless.code, endless.stderr]).toEqual([1, expect.stringContaining("apply printed more than 64 MiB")]);
    const folder = await temporaryFolder();
    await writeFile(join(folder, "rl.toml"), CONFIG);
    await mkdir(join(folder, "nothing"));
    const absent = await prl(["rl", "rl.toml", "--kubernetes"], folder, { PATH: join(folder, "nothing") });
    expect([absent.code, absent.stderr]).toEqual([1, expect.stringContaining("there is no program kubectl on PATH")]);
  });
});

describe("prl kubernetes", () => {
  test("status asks for the run's objects and shows their states", async () => {
    const { kubectl, run } = await applied();
    await kubectl.answer({ stdout: JSON.stringify({ items: [JOB, POD] }) });
    const { code, stdout, stderr } = await run("kubernetes", "status", "mine");
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toMatch(/^applied +.* to ml\njob\/prl-mine +active, 1 failed pod\n/u);
    expect(stdout).toContain("pod/prl-mine-abcde  Running, on n1, 2 restarts\n");
    expect((await kubectl.calls()).at(-1)).toEqual(["get", "job,statefulset,pod", SELECTOR, "--output=json", ...PLACE]);
    const { stdout: json } = await run("kubernetes", "status", "mine", "--json");
    expect(JSON.parse(json)).toMatchObject({
      name: "prl-mine",
      namespace: "ml",
      objects: [
        { kind: "Job", name: "prl-mine" },
        { kind: "Pod", state: "Running, on n1, 2 restarts" },
      ],
    });
  });

  test.each(["no JSON", "{}", JSON.stringify({ items: [{ kind: 7 }] })])(
    "status names an answer of kubectl that it cannot read: %s",
    async (stdout) => {
      const { kubectl, run } = await applied();
      await kubectl.answer({ stdout });
      const { code, stderr } = await run("kubernetes", "status", "mine");
      expect([code, stderr]).toEqual([1, expect.stringContaining("[PRL_KUBERNETES] kubectl get answered")]);
    },
  );

  test("logs prints the lines of all pods, or of one component", async () => {
    const { kubectl, run } = await applied();
    await kubectl.answer({ stdout: "[pod/prl-mine-abcde/run] step 1\u001b[2J\n[pod/prl-mine-abcde/run] step 2\n" });
    const { code, stdout } = await run("kubernetes", "logs", "mine");
    expect(code).toBe(0);
    expect(stdout).toContain("[pod/prl-mine-abcde/run] step 2\n");
    expect(stdout).not.toContain("\u001b");
    const all = ["--all-containers", "--prefix", "--tail=-1", "--ignore-errors", "--max-log-requests=1024"];
    expect((await kubectl.calls()).at(-1)).toEqual(["logs", SELECTOR, ...all, ...PLACE]);
    await run("kubernetes", "logs", "-f", "mine", "inference");
    expect((await kubectl.calls()).at(-1)).toEqual([
      "logs",
      `${SELECTOR},app.kubernetes.io/component=inference`,
      ...all,
      "--follow",
      ...PLACE,
    ]);
    expect((await run("kubernetes", "logs", "mine", "trainer")).code).toBe(2);
  });

  test.each([[[]], [["-f"]]])("logs %j end on Ctrl-C with its exit code", async (follow) => {
    const { folder, kubectl } = await applied();
    await kubectl.answer({ stdout: "[pod/prl-mine-abcde/run] step 1\n" });
    const stdout = { write: () => process.emit("SIGINT") };
    const world = { stdout, stderr: stdout, env: kubectl.env, cwd: folder };
    expect(await runCommandLine(["kubernetes", "logs", ...follow, "mine"], world)).toBe(130);
  });

  test("delete leaves the claim, and says so", async () => {
    const { kubectl, run } = await applied();
    await kubectl.answer({ stdout: 'job.batch "prl-mine" deleted\n' });
    const { code, stdout } = await run("kubernetes", "delete", "mine");
    expect([code, stdout]).toEqual([
      0,
      'job.batch "prl-mine" deleted\nThe claim prl-mine stays, with the run\'s data.\n',
    ]);
    expect((await kubectl.calls()).at(-1)).toEqual([
      "delete",
      "job,statefulset,service,configmap,secret",
      SELECTOR,
      "--ignore-not-found",
      // Its pods, which may still write checkpoints, are gone too.
      "--cascade=foreground",
      "--wait=true",
      "--timeout=180s",
      ...PLACE,
    ]);
  });

  test("knows only runs that were applied", async () => {
    const { run } = await place();
    expect((await run("rl", "rl.toml", "--kubernetes", "--dry-run")).code).toBe(0);
    const { code, stderr } = await run("kubernetes", "status", "mine");
    expect([code, stderr]).toEqual([2, expect.stringContaining("no run was applied to a cluster from")]);
  });

  test("says what to do about a damaged record", async () => {
    const { run, runDir } = await applied();
    await writeFile(join(runDir, "kubernetes/applied.json"), "{");
    const { code, stderr } = await run("kubernetes", "status", "mine");
    expect([code, stderr]).toEqual([1, expect.stringContaining("applied.json is damaged: kubectl get job")]);
  });
});
