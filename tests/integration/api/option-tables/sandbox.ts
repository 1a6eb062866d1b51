/** Options of `prl-lm/sandbox`. Refused before a daemon is asked. */
import { Box, BoxProcess, Repl, SandboxPool } from "../../../../ts/sandbox/index.ts";
import { daemonArguments } from "../../../../ts/sandbox/internal.ts";
import { toNativeCreate } from "../../../../ts/sandbox/box/native-box-request.ts";
import { toNativeRequest, toNativeTests } from "../../../../ts/sandbox/native-request.ts";
import type { OptionTable } from "./table.ts";

const S = { code: "PRL_SANDBOX_REQUEST" };
/** Without a daemon: what they are asked for is checked before they do anything. */
const pool = Object.create(SandboxPool.prototype) as SandboxPool;
const box = Object.create(Box.prototype) as Box;
const program = Object.create(BoxProcess.prototype) as BoxProcess;
const repl = Object.create(Repl.prototype) as Repl;
const NONE = {};

export const SANDBOX: OptionTable = {
  daemonArguments: { ...S, call: daemonArguments, wrong: { maxRunning: 0, cpus: Number.NaN } },
  "SandboxPool.start": { ...S, call: (more) => SandboxPool.start(more), wrong: { maxQueued: -1 } },
  "SandboxPool.connect": {
    ...S,
    call: (more) => SandboxPool.connect({ addresses: ["127.0.0.1:9"], ...more }),
    wrong: { tls: { ca: "", cert: "" } },
  },
  // The check that they make first needs no pool.
  "SandboxPool.runOnce": {
    ...S,
    call: (more) => toNativeRequest({ command: ["true"], ...more }, "key", null),
    wrong: { command: [], limits: { wall: 1 } },
  },
  "SandboxPool.runTests": {
    ...S,
    call: (more) => toNativeTests({ program: ["true"], cases: [{ stdin: "" }], ...more }, "key", null),
    wrong: { program: [] },
  },
  "SandboxPool.create": {
    ...S,
    call: (more) => toNativeCreate(more, "id", null),
    wrong: { ttlMs: 0, labels: { a: 1 } },
  },
  "SandboxPool.runMany": { ...S, call: (more) => pool.runMany([], more), wrong: { concurrency: 0 } },
  "SandboxPool.executeCode": {
    ...S,
    call: (more) => pool.executeCode("", [{ input: "", output: "" }], more),
    wrong: NONE,
  },
  "SandboxPool.list": { ...S, call: (more) => pool.list(more), wrong: { labels: { a: 1 } } },
  "SandboxPool.closeAll": {
    ...S,
    call: (more) => pool.closeAll({ labels: { a: "b" }, ...more }),
    wrong: { labels: {} },
  },
  "SandboxPool.snapshots": { ...S, call: (more) => pool.snapshots(more), wrong: { labels: { a: 1 } } },
  "Box.exec": { ...S, call: (more) => box.exec(["true"], more), wrong: { timeoutMs: -1, env: { A: 1 } } },
  "Box.start": { ...S, call: (more) => box.start(["true"], more), wrong: { timeoutMs: -1 } },
  "Box.repl": { ...S, call: (more) => box.repl("python", more), wrong: { env: { A: 1 } } },
  "Box.write": { ...S, call: (more) => box.write("a", "b", more), wrong: { mode: 0o1777 } },
  "Box.read": { ...S, call: (more) => box.read("a", more), wrong: { maxBytes: -1, offset: 0.5 } },
  "Box.list": { ...S, call: (more) => box.list(".", more), wrong: { depth: 0, maxEntries: 0 } },
  "Box.remove": { ...S, call: (more) => box.remove("a", more), wrong: NONE },
  "Box.watch": { ...S, call: (more) => box.watch("a", more), wrong: NONE },
  "Box.downloadDirectory": { ...S, call: (more) => box.downloadDirectory("a", "b", more), wrong: { maxBytes: -1 } },
  "Box.snapshot": { ...S, call: (more) => box.snapshot(more), wrong: { labels: { a: 1 } } },
  "BoxProcess.write": { ...S, call: (more) => program.write("a", more), wrong: { offset: -1 } },
  "BoxProcess.output": { ...S, call: (more) => program.output(more).next(), wrong: { stdoutFrom: -1 } },
  "BoxProcess.wait": { ...S, call: (more) => program.wait(more), wrong: NONE },
  "Repl.run": { ...S, call: (more) => repl.run("1", more), wrong: NONE },
};
