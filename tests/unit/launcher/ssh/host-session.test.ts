/** The launcher's end of a session, with a stand-in for ssh that does what a test says. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, test, vi } from "vitest";

import { hostsFileSchema } from "../../../../ts/config/index.ts";
import { rlConfigSchema } from "../../../../ts/config/schema/rl.ts";
import { Collector } from "../../../../ts/launcher/ssh/collector.ts";
import { planHosts } from "../../../../ts/launcher/ssh/host-plan.ts";
import { partOrderSchema, PROTOCOL } from "../../../../ts/launcher/ssh/host-protocol.ts";
import { HostSession } from "../../../../ts/launcher/ssh/host-session.ts";
import { fakeSsh, HELLO } from "../../../support/clusters/fake-ssh.ts";
import { hasEnded } from "../../../support/has-ended.ts";

const hosts = hostsFileSchema.parse({
  host: [{ name: "a", address: "there", dir: "/d", roles: ["trainer", "orchestrator", "inference"] }],
});
const config = rlConfigSchema.parse({
  model: { name: "m" },
  run: { name: "mine" },
  trainer: { threads: 1 },
  inference: { threads: 1 },
  orchestrator: { train: { source: [{ env: { id: "reverse-text" } }] } },
});
const [PART] = planHosts(config, { hosts, hostsProvenance: new Map() }).parts;
const ORDER = partOrderSchema.parse({
  do: "part",
  protocol: PROTOCOL,
  name: "inference-0",
  component: "inference",
  command: "inference",
  index: 0,
  kind: "serve",
  runDir: "/d/a/mine",
  configs: {},
  attempt: 1,
  resume: null,
  env: {},
  log: { maxBytes: 1, keep: 1 },
  follow: {},
});

afterEach(() => void vi.useRealTimers());

function sessionOf(collector: Collector): HostSession {
  if (PART === undefined) throw new Error("no part");
  const events = { onAgain: () => undefined, onBegun: () => undefined };
  return new HostSession(PART, ORDER, hosts, { collector, events });
}

test("an ssh that does not end is ended with what it has started, and the part is lost", async () => {
  const folder = fakeSsh(`echo '${HELLO}'; sleep 300 & echo $! >proxy; exec sleep 300`);
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const session = sessionOf(new Collector(folder, folder));
  await vi.waitFor(() => expect(readFileSync(join(folder, "proxy"), "utf8")).toMatch(/\n$/u), { timeout: 10_000 });
  const closed = session.close();
  await vi.advanceTimersByTimeAsync(20_000);
  await closed;
  expect(await session.ended).toMatchObject({ how: "lost", error: { code: "PRL_SSH" } });
  await hasEnded(Number(readFileSync(join(folder, "proxy"), "utf8")));
});

test.each([
  [100_000, { how: "ended", code: 0 }],
  [310_000, { how: "lost", error: { code: "PRL_IO", message: expect.stringContaining("see the disk") as string } }],
])("a disk here that stands still for %d ms is not taken for a silent host", async (ms, end) => {
  const ended = JSON.stringify({ prl: "end", code: 0, signal: null, note: null });
  const folder = fakeSsh(`echo '${HELLO}'; echo text; echo '${ended}'; exec sleep 300`);
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval", "performance"] });
  const collector = new Collector(folder, folder);
  let goOn = (): void => undefined;
  const log = vi.spyOn(collector, "log").mockReturnValue(new Promise((resolve) => (goOn = resolve)));
  const session = sessionOf(collector);
  await vi.waitFor(() => expect(log).toHaveBeenCalled(), { timeout: 10_000 });
  await vi.advanceTimersByTimeAsync(ms);
  goOn();
  const closed = session.close();
  await vi.advanceTimersByTimeAsync(20_000);
  await closed;
  expect(await session.ended).toMatchObject(end);
});
