/** The scripts of jobs: as they are stored, as bash reads them, and what no text in them can do. */
import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as fc from "fast-check";
import { describe, expect, onTestFinished, test } from "vitest";

import { rlConfigSchema } from "../../../../ts/config/schema/rl.ts";
import { planRoles } from "../../../../ts/launcher/slurm/job-plan.ts";
import { type JobScript, renderJob } from "../../../../ts/launcher/slurm/job-script.ts";
import { SUPERVISION } from "../../../../ts/launcher/slurm/job-supervision.ts";
import { quoted, quotedWords } from "../../../../ts/launcher/clusters/shell-quote.ts";

const GOLDEN = join(import.meta.dirname, "../../../fixtures/slurm");
/** Stands in the stored scripts for the part that all have; `supervision.test.ts` runs that part. */
const COMMON = "# (the text of job-supervision.ts)";
const hasShellcheck = spawnSync("shellcheck", ["--version"]).status === 0;

function scriptOf(more: Record<string, unknown>, job: Partial<JobScript> = {}): string {
  const config = rlConfigSchema.parse({
    model: { name: "m" },
    orchestrator: { train: { source: [{ env: { id: "reverse-text" } }] } },
    run: { name: "mine" },
    ...more,
  });
  return renderJob({
    config,
    roles: planRoles(config),
    runDir: "/shared/runs/mine",
    cwd: "/home/me/project",
    command: ["/usr/bin/node", "/opt/prl/dist/cli/main.js"],
    resume: null,
    ...job,
  });
}

const SCRIPTS: Record<string, () => string> = {
  "one-node": () => scriptOf({}),
  "one-node-resumed": () => scriptOf({ slurm: { requeue: false, grace_s: 300 } }, { resume: 20 }),
  gpus: () =>
    scriptOf({
      slurm: {
        job_name: "reverse",
        partition: "gpu,long",
        account: "lab",
        qos: "high",
        time: "1-12:00:00",
        gres: "gpu:h100:8",
        mem: "512G",
        cpus_per_task: 64,
        exclude: "n[7-9]",
        extra: ["--constraint=ib", "--hold"],
        modules: ["cuda/12.8", "node/22"],
        setup: ["source ~/prl.env", "ulimit -n 65536"],
      },
    }),
  container: () =>
    scriptOf({
      slurm: {
        command: ["prl"],
        container_image: "/images/prl it's new.sqsh",
        container_mounts: ["/models:/models"],
        gpus_per_node: 4,
      },
    }),
  "two-nodes": () => scriptOf({ slurm: { nodes: 2, cpus_per_task: 8 } }),
  "three-nodes": () =>
    scriptOf(
      {
        slurm: { nodes: 3, nodelist: "n[1-3]" },
        inference: { replicas: 4, threads: 8, server: { host: "0.0.0.0", port: 8000 } },
        orchestrator: { env_workers: 2, train: { source: [{ env: { id: "reverse-text" } }] } },
      },
      { resume: "latest" },
    ),
};

describe.each(Object.entries(SCRIPTS))("the script of %s", (name, render) => {
  const file = join(GOLDEN, `${name}.sh`);

  test("is as stored", () => {
    const whole = render();
    expect(whole.split(SUPERVISION.trimEnd())).toHaveLength(2);
    const script = whole.replace(SUPERVISION.trimEnd(), () => COMMON);
    if (process.env["PRL_BLESS"] === "1") writeFileSync(file, script);
    expect(script).toBe(readFileSync(file, "utf8"));
  });

  test("is one that bash can read", () => {
    expect(spawnSync("bash", ["-n"], { input: render(), encoding: "utf8" })).toMatchObject({ status: 0, stderr: "" });
  });

  test.skipIf(!hasShellcheck)(
    `shows nothing to shellcheck${hasShellcheck ? "" : " (shellcheck is not installed)"}`,
    () => {
      const args = ["--shell=bash", "--severity=error", "-"];
      expect(spawnSync("shellcheck", args, { input: render(), encoding: "utf8" })).toMatchObject({
        status: 0,
        stdout: "",
      });
    },
  );

  test("has all options of sbatch before its first command, each as one plain word", () => {
    const lines = render().split("\n");
    const first = lines.findIndex((text) => text !== "" && !text.startsWith("#"));
    const options = lines.filter((text) => text.startsWith("#SBATCH"));
    expect(lines.slice(first).filter((text) => text.startsWith("#SBATCH"))).toEqual([]);
    for (const option of options) expect(option).toMatch(/^#SBATCH --[a-z][a-z-]*(=\S+)?$/u);
  });
});

/** Texts that would do something if a shell saw them. */
const hostile = fc
  .array(
    fc.oneof(
      fc.constantFrom(
        "'",
        '"',
        "`id`",
        "$(touch gone)",
        "${HOME}",
        "$x",
        "\\",
        "\n",
        " ",
        "\t",
        "*",
        "?",
        "[a]",
        "~",
        "!",
        "#",
        ";",
        "&",
        "|",
        ">f",
        "<f",
        "(",
        "{a,b}",
        "-n",
        "%j",
        "\u001b",
        "é",
        "\u{1f600}",
      ),
      fc.string({ unit: "grapheme", maxLength: 4 }),
    ),
    { maxLength: 12 },
  )
  .map((parts) => parts.join("").replaceAll("\0", ""));

describe("a quoted text", () => {
  test("is that text to bash, whatever is in it", () => {
    fc.assert(
      fc.property(fc.array(hostile, { minLength: 1, maxLength: 20 }), (texts) => {
        const script = `words=${quotedWords(texts)}\nprintf '%s\\0' "\${words[@]}" ${texts.map((text) => quoted(text)).join(" ")}`;
        const out = execFileSync("bash", ["-s"], { input: script, cwd: tmpdir(), encoding: "utf8" });
        expect(out.split("\0").slice(0, -1)).toEqual([...texts, ...texts]);
      }),
      { numRuns: 60 },
    );
  });
});

describe("a script with hostile paths", () => {
  test("has them as values, and runs nothing in them", () => {
    fc.assert(
      fc.property(hostile, hostile, hostile, (runDir, image, argument) => {
        const folder = mkdtempSync(join(tmpdir(), "prl-slurm-"));
        try {
          const mounts = image === "" ? {} : { container_image: `i${image.replaceAll(/[\n\r]/gu, "")}` };
          const command = ["prl", `a${argument.replaceAll(/[\n\r]/gu, "")}`];
          const script = scriptOf({ slurm: { command, ...mounts } }, { runDir: `/r${runDir}`, cwd: folder });
          // The values at the point where the script would look for its nodes.
          const probe = `exec 3>&1\nmkdir() { printf '%s\\0' "$run" "$config" "\${prl[@]}" "\${container[@]}" >&3; exit 9; }\n`;
          const ran = spawnSync("bash", ["-s"], {
            input: script.replace("\ndeclare -A", () => `\n${probe}declare -A`),
            cwd: folder,
            env: { ...process.env, SLURM_JOB_ID: "7", HOME: folder },
            encoding: "utf8",
          });
          const given = mounts.container_image;
          const container =
            given === undefined ? [] : [`--container-image=${given}`, `--container-mounts=/r${runDir}:/r${runDir}`];
          const expected = [`/r${runDir}`, `/r${runDir}/slurm/rl.toml`, ...command, ...container];
          expect(ran.stdout.split("\0").slice(0, -1)).toEqual(expected);
          expect([ran.status, ran.stderr]).toEqual([9, ""]);
        } finally {
          rmSync(folder, { recursive: true });
        }
      }),
      { numRuns: 60 },
    );
  });

  test("ends with an error when its folders cannot be made", () => {
    const folder = mkdtempSync(join(tmpdir(), "prl-slurm-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    writeFileSync(join(folder, "slurm"), "");
    const script = scriptOf({}, { runDir: folder, cwd: folder });
    const ran = spawnSync("bash", ["-s"], {
      input: script,
      env: { ...process.env, SLURM_JOB_ID: "7", SLURM_JOB_NODELIST: "n1" },
      encoding: "utf8",
    });
    expect([ran.status, ran.stderr]).toEqual([1, expect.stringContaining("mkdir")]);
  });
});

/** What stands in for the other part of the script: it prints the arguments of each role. */
const STAND_INS = `timeout() { echo "$SLURM_JOB_NODELIST" | tr ' ' '\\n'; }
address_of() { echo 10.0.0.1; }
start() { echo "$*"; }
supervise() { :; }
finish() { :; }`;

test.each([
  ["one node", 1, "logs/attempt_10"],
  ["two nodes", 2, "run/attempt.json"],
])("a later start on %s asks for the same step until the run has gone back to it", (_, nodes, attempt) => {
  const runDir = mkdtempSync(join(tmpdir(), "prl-job-"));
  onTestFinished(() => rmSync(runDir, { recursive: true }));
  for (const folder of ["slurm", "run", "logs/attempt_9"]) mkdirSync(join(runDir, folder), { recursive: true });
  const script = scriptOf({ slurm: { nodes } }, { runDir, cwd: runDir, resume: 20 });
  const resumed = (restarts: number): string => {
    const slurm = {
      SLURM_JOB_ID: "7",
      SLURM_RESTART_COUNT: String(restarts),
      SLURM_JOB_NODELIST: "n1 n2".slice(0, 3 * nodes - 1),
    };
    const env = { PATH: process.env["PATH"], PRL_TRANSPORT_TOKEN: "t", ...slurm };
    const input = script.replace(SUPERVISION.trimEnd(), () => STAND_INS);
    const { stdout, stderr, status } = spawnSync("bash", ["-s"], { input, env, encoding: "utf8" });
    expect([status, stderr]).toEqual([0, ""]);
    return /--resume.*/u.exec(stdout)?.[0] ?? "";
  };
  expect(resumed(0)).toBe("--resume 20");
  expect(resumed(1)).toBe("--resume 20");
  writeFileSync(join(runDir, attempt), "{}");
  expect(resumed(2)).toBe("--resume");
  expect(resumed(3)).toBe("--resume");
});
