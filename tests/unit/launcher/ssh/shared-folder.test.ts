/** Whether two hosts see the same folder: the file of the host, and the answers that the launcher makes something of. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";

import { hostsFileSchema } from "../../../../ts/config/index.ts";
import { rlConfigSchema } from "../../../../ts/config/schema/rl.ts";
import { planHosts } from "../../../../ts/launcher/ssh/host-plan.ts";
import { PROTOCOL } from "../../../../ts/launcher/ssh/host-protocol.ts";
import { shareFile } from "../../../../ts/launcher/ssh/on-host/share-file.ts";
import { assertShared } from "../../../../ts/launcher/ssh/shared-folder.ts";
import { fakeSsh, HELLO } from "../../../support/clusters/fake-ssh.ts";
import { hasEnded } from "../../../support/has-ended.ts";
import { folderWith, prlErrorOf } from "../../config/support.ts";

const hosts = hostsFileSchema.parse({
  shared: ["/shared"],
  host: [["trainer"], ["orchestrator", "inference"]].map((roles, index) => {
    return { name: `h${index + 1}`, address: `10.0.0.${index + 1}`, dir: "/data", roles };
  }),
});
const config = rlConfigSchema.parse({
  model: { name: "m" },
  run: { name: "mine" },
  ckpt: { path: "/shared/ckpt" },
  orchestrator: { train: { source: [{ env: { id: "reverse-text" } }] } },
});
const never = new AbortController().signal;
const sources = { hosts, provenance: new Map(), signal: never, hurry: never };
const plan = planHosts(config, { ...sources, hostsProvenance: new Map() });
/** Notes the order; `look` is the answer to that one. */
const answering = (look: boolean) => `read -r line
echo "$line" >> orders
echo '${HELLO}'
case "$line" in *'"look"'*) echo '{"prl":"share","isThere":${look}}' ;; *) echo '{"prl":"share","isThere":true}' ;; esac`;

function acts(folder: string): string[] {
  const lines = readFileSync(join(folder, "orders"), "utf8").trim().split("\n");
  return lines.map((line) => (JSON.parse(line) as { act: string }).act);
}

test("a folder that the orchestrator's host does not see is refused by key, and the file is removed", async () => {
  const folder = fakeSsh(answering(false));
  const { code, message } = await prlErrorOf(assertShared(plan, config, sources));
  expect(code).toBe("PRL_CONFIG_INVALID");
  expect(message).toMatch(/^ckpt\.path: a file that h1 \(trainer\) writes to \/shared\/ckpt does not appear on h2/u);
  expect(acts(folder)).toEqual(["write", "look", "remove"]);
});

test("Ctrl-C ends the question to a host that does not answer, and the file is removed", async () => {
  const folder = fakeSsh(`read -r line
echo "$line" >> orders
echo '${HELLO}'
case "$line" in *'"look"'*) echo $$ >looking; exec sleep 300 ;; *) echo '{"prl":"share","isThere":true}' ;; esac`);
  const stopped = new AbortController();
  const asserted = prlErrorOf(assertShared(plan, config, { ...sources, signal: stopped.signal }));
  await vi.waitFor(() => expect(acts(folder)).toEqual(["write", "look"]), 10_000);
  await vi.waitFor(() => expect(readFileSync(join(folder, "looking"), "utf8")).toMatch(/\n$/u), 10_000);
  stopped.abort("SIGINT");
  expect((await asserted).code).toBe("PRL_RUN_INTERRUPTED");
  expect(acts(folder)).toEqual(["write", "look", "remove"]);
  await hasEnded(Number(readFileSync(join(folder, "looking"), "utf8")));
});

test("a host that does not answer is not waited for as long again, for the file that it may have written", async () => {
  const folder = fakeSsh(`read -r line
echo "$line" >> orders
exec sleep 300`);
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  const asserted = prlErrorOf(assertShared(plan, config, sources));
  const ordered = (all: string[]) => vi.waitFor(() => expect(acts(folder)).toEqual(all), 10_000);
  await ordered(["write"]);
  await vi.advanceTimersByTimeAsync(60_000);
  await ordered(["write", "remove"]);
  await vi.advanceTimersByTimeAsync(10_000);
  expect(await asserted).toMatchObject({ code: "PRL_SSH", message: "h1: did not answer within 60 s" });
});

test("a folder that both see is taken, and the file is removed", async () => {
  const folder = fakeSsh(answering(true));
  await assertShared(plan, config, sources);
  expect(acts(folder)).toEqual(["write", "look", "remove"]);
});

test("a host writes the file into a folder that it makes, sees it, and removes it", async () => {
  const folder = folderWith({});
  const path = join(folder, "new/folder/.file");
  const order = { do: "share", protocol: PROTOCOL, path } as const;
  expect(await shareFile({ ...order, act: "write" })).toBe(true);
  expect(await shareFile({ ...order, act: "look" })).toBe(true);
  expect(await shareFile({ ...order, act: "remove" })).toBe(false);
  expect(readdirSync(join(folder, "new/folder"))).toEqual([]);
});
