/** The configs of Prometheus and of DCGM in `configs/deploy/monitoring` name metrics and ports that exist. */
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { load } from "js-yaml";
import { expect, test } from "vitest";

import { hostsFileSchema } from "../../../ts/config/index.ts";
import { samplingKey } from "../../../ts/inference-client/index.ts";
import { folderWith } from "../config/support.ts";
import { promisedNames, unlisted } from "../../support/promised-metrics.ts";

const ROOT = join(import.meta.dirname, "../../..");
const FOLDER = join(ROOT, "configs/deploy/monitoring");
/** Names in the counters that NVIDIA's dcgm-exporter has by default (etc/default-counters.csv at 00d6d344). */
const DCGM_FIELDS = new Set(
  `SM_CLOCK MEM_CLOCK MEMORY_TEMP GPU_TEMP POWER_USAGE TOTAL_ENERGY_CONSUMPTION PCIE_TX_THROUGHPUT PCIE_RX_THROUGHPUT
  PCIE_REPLAY_COUNTER GPU_UTIL MEM_COPY_UTIL ENC_UTIL DEC_UTIL XID_ERRORS FB_FREE FB_USED NVLINK_BANDWIDTH_TOTAL VGPU_LICENSE_STATUS
  UNCORRECTABLE_REMAPPED_ROWS CORRECTABLE_REMAPPED_ROWS ROW_REMAP_FAILURE`
    .split(/\s+/u)
    .map((name) => `DCGM_FI_DEV_${name}`),
);

interface Rules {
  groups: { name: string; rules: { alert: string; expr: string; annotations: { summary: string } }[] }[];
}
interface Scrapes {
  rule_files: string[];
  scrape_configs: { job_name: string; static_configs: { targets: string[] }[] }[];
}

const read = (name: string) => readFileSync(join(FOLDER, name), "utf8");
const rules = (load(read("prl.rules.yml")) as Rules).groups.flatMap((group) => group.rules);
const scrapes = load(read("prometheus.yml")) as Scrapes;
const counters = read("dcgm-counters.csv")
  .split("\n")
  .filter((line) => line !== "" && !line.startsWith("#"))
  .map((line) => line.split(",").map((cell) => cell.trim()));

/** All sources that name metrics, as one text. */
function sources(): string {
  const folders = ["ts/monitors", "ts/orchestrator", "ts/launcher", "ts/inference", "crates/sandboxd/src/metrics"];
  return folders
    .flatMap((folder) =>
      readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" }).map((name) => join(ROOT, folder, name)),
    )
    .filter((path) => /\.(ts|rs)$/u.test(path))
    .map((path) => readFileSync(path, "utf8"))
    .join("\n");
}

test("every metric in an alarm is one that a process shows", () => {
  const text = sources();
  const names = new Set(
    rules.flatMap(({ expr }) => expr.replaceAll(/"[^"]*"/gu, "").match(/\b(?:prl_|vllm:|DCGM_)\w+/gu) ?? []),
  );
  expect(names.size).toBeGreaterThan(10);
  const isThere = (name: string): boolean => {
    if (name.startsWith("DCGM_")) return counters.some(([field]) => field === name);
    // The launcher makes these names of its components.
    const restarts = /^prl_restarts_(?<component>\w+)$/u.exec(name)?.groups?.["component"];
    if (restarts !== undefined)
      return text.includes("`restarts_${") && text.includes(`"${restarts.replaceAll("_", "-")}"`);
    // The daemon's library adds the end of counters.
    const bare = name
      .replace(/^(prl_sandbox_\w+)_total$/u, "$1")
      .replace(/^(?:prl_(?!sandbox_|metric|step)|vllm:)/u, "");
    return text.includes(`"${bare}"`);
  };
  expect([...names].filter((name) => !isThere(name))).toEqual([]);
});

test("every value by name in an alarm is one that configs/metrics.md promises", async () => {
  const names = rules.flatMap(({ expr }) =>
    [...expr.matchAll(/prl_metric\{name="([^"]+)"\}/gu)].map(([, name = ""]) => name),
  );
  expect(names.length).toBeGreaterThan(2);
  const listed = [...(await promisedNames("orchestrator")), ...(await promisedNames("trainer"))];
  expect(unlisted(listed, Object.fromEntries(names.map((name) => [name, 0])))).toEqual([]);
});

test("every cause and code in an alarm is one that exists", () => {
  const labels = rules.flatMap(({ expr }) => [...expr.matchAll(/(cause|code|component)="([^"]+)"/gu)]);
  const text =
    sources() +
    readFileSync(join(ROOT, "ts/errors.ts"), "utf8") +
    readFileSync(join(ROOT, "ts/sandbox/types.ts"), "utf8");
  expect(labels.filter(([, , value = ""]) => !text.toLowerCase().includes(value.toLowerCase()))).toEqual([]);
});

test("every field of DCGM is one that the exporter has, with its type and its meaning", () => {
  for (const [field = "", type = "", help = ""] of counters) {
    expect(DCGM_FIELDS).toContain(field);
    expect(["gauge", "counter"]).toContain(type);
    expect(help).toMatch(/\w+ \w+/u);
  }
});

test("the ports are those of a run with monitors.prometheus.port = 9400, of prl launch ssh, and one that nothing else has", () => {
  const ports = Object.fromEntries(
    scrapes.scrape_configs.map(({ job_name: job, static_configs: places }) => {
      return [job, places.flatMap(({ targets }) => targets).map((target) => Number(target.split(":")[1]))];
    }),
  );
  const documented = readFileSync(join(ROOT, "ts/monitors/README.md"), "utf8").matchAll(/^\| (94\d\d) +\|/gmu);
  const [orchestrator, trainer, launcher, sandboxd] = [...documented].map(([, port]) => Number(port));
  expect(ports["prl"]).toEqual([orchestrator, trainer, launcher]);
  expect(ports["prl-sandboxd"]).toEqual([sandboxd]);
  const { first_port: first } = hostsFileSchema.parse({
    host: [{ name: "a", address: "a", roles: ["trainer"], dir: "/d" }],
  });
  expect(ports["prl-inference"]).toEqual([first + 2, first + 3]);
  expect(new Set(Object.values(ports).flat()).size).toBe(Object.values(ports).flat().length);
  expect(scrapes.rule_files).toEqual(["prl.rules.yml"]);
});

test("the command of the README prints the key with which a run samples", () => {
  const readme = readFileSync(join(ROOT, "configs/deploy/README.md"), "utf8");
  const [, program = ""] = /node -e '([^']+)' outputs\/mine\/ssh\/key/u.exec(readme) ?? [];
  const folder = folderWith({ key: "0123abcd" });
  const printed = execFileSync(process.execPath, ["-e", program, join(folder, "key")], { encoding: "utf8" });
  expect(printed.trim()).toBe(samplingKey("0123abcd"));
});
