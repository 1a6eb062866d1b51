// `npm run bench [name...]`: runs the TypeScript benches one after the other against the built package (`npm run build`), each in a
// separate process; a long one (`<name>.long.bench.mjs`) only when it is named. Options after the names: --threads N (default 2),
// --python FILE (an interpreter that has the rivals' packages).
import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { basename, join } from "node:path";
import { NODE_OPTIONS_OF } from "../dist/launcher/processes/rl-processes.js";

const args = process.argv.slice(2);
const firstOption = args.findIndex((arg) => arg.startsWith("--"));
const names = firstOption < 0 ? args : args.slice(0, firstOption);
const options = firstOption < 0 ? [] : args.slice(firstOption);
const files = readdirSync(import.meta.dirname, { recursive: true, encoding: "utf8" }).filter((file) =>
  file.endsWith(".bench.mjs"),
);
const nameOf = (file) => basename(file).replace(/(\.long)?\.bench\.mjs$/, "");
const wanted = files.filter((file) => (names.length === 0 ? !file.includes(".long.") : names.includes(nameOf(file))));
let failed = false;
for (const file of wanted) {
  // As the launcher starts what it measures.
  const node = nameOf(file).startsWith("orchestrator-") ? NODE_OPTIONS_OF.orchestrator : [];
  const run = spawnSync(process.execPath, [...node, join(import.meta.dirname, file), ...options], { stdio: "inherit" });
  failed ||= run.status !== 0;
}
process.exit(failed || wanted.length === 0 ? 1 : 0);
