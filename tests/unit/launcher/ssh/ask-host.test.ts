/** Questions to a host, with a stand-in for ssh that does what a test says. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";

import { hostsFileSchema } from "../../../../ts/config/index.ts";
import { askHost } from "../../../../ts/launcher/ssh/ask-host.ts";
import { PROTOCOL } from "../../../../ts/launcher/ssh/host-protocol.ts";
import { fakeSsh, HELLO } from "../../../support/clusters/fake-ssh.ts";
import { hasEnded } from "../../../support/has-ended.ts";
import { prlErrorOf } from "../../config/support.ts";

const HOSTS = hostsFileSchema.parse({ host: [{ name: "a", address: "there", roles: ["trainer"], dir: "/d" }] });
const [HOST] = HOSTS.host;
if (HOST === undefined) throw new Error("no host");
function ask(script: string, deadlineMs = 20_000) {
  fakeSsh(script);
  return question(deadlineMs);
}

function question(deadlineMs: number, signal = new AbortController().signal) {
  return askHost(HOST as NonNullable<typeof HOST>, HOSTS, { order: null, deadlineMs, signal });
}

test("gets the frames among what else a host prints", async () => {
  expect(await ask(`echo Welcome; echo '${HELLO}'; echo '{"prl":"beat"}'; cat`)).toEqual([
    JSON.parse(HELLO),
    { prl: "beat" },
  ]);
});

test.each([
  [
    "another version",
    `echo '{"prl":"hello","protocol":${PROTOCOL},"version":"0.0.1"}'`,
    "a has prl 0.0.1, and this machine",
  ],
  ["another protocol", `echo '{"prl":"hello","protocol":0,"version":"1"}'`, "have the same version on all hosts"],
  ["no prl", `echo "sh: 1: exec: prl: not found" >&2; exit 127`, "install prl on the host, or set command"],
  ["no word", "exit 255", "a (there): ssh ended without a word"],
  [
    "a refusal",
    `echo '${HELLO}'; echo '{"prl":"refused","code":"PRL_IO","message":"cannot write"}'`,
    "a: cannot write",
  ],
])("names a host with %s", async (_what, script, message) => {
  expect((await prlErrorOf(ask(script))).message).toContain(message);
});

test("does not wait longer than its deadline", async () => {
  expect((await prlErrorOf(ask(`echo '${HELLO}'; exec sleep 60`, 500))).message).toContain(
    "a: did not answer within 0.5 s",
  );
});

test("ends what ssh has started, such as a ProxyCommand, with ssh at its deadline", async () => {
  const folder = fakeSsh(`sleep 300 & echo $! >proxy; echo '${HELLO}'; exec sleep 300`);
  expect((await prlErrorOf(question(500))).message).toContain("a: did not answer within 0.5 s");
  await hasEnded(Number(readFileSync(join(folder, "proxy"), "utf8")));
});

test("does not wait for a program that has left ssh's group and keeps its standard error", async () => {
  const folder = fakeSsh(`setsid sh -c 'echo $$ >left; exec sleep 300' >/dev/null </dev/null & exec sleep 300`);
  expect((await prlErrorOf(question(1_000))).message).toContain("a: did not answer within 1 s");
  process.kill(Number(readFileSync(join(folder, "left"), "utf8")), "SIGKILL");
});

test("leaves no ssh behind whose answer cannot be read", async () => {
  const folder = fakeSsh(`echo $$ >ssh.pid; head -c 9000000 /dev/zero; exec sleep 300`);
  expect((await prlErrorOf(question(20_000))).message).toContain("a: a line of more than");
  await hasEnded(Number(readFileSync(join(folder, "ssh.pid"), "utf8")));
});

test("asks many hosts at once, and ends all questions when the signal is aborted, without a warning", async () => {
  const warned = vi.spyOn(process, "emitWarning");
  onTestFinished(() => warned.mockRestore());
  fakeSsh("exec sleep 300");
  const stopped = new AbortController();
  const asked = Array.from({ length: 12 }, () => prlErrorOf(question(20_000, stopped.signal)));
  stopped.abort("SIGINT");
  for (const { code } of await Promise.all(asked)) expect(code).toBe("PRL_SSH");
  expect(warned).not.toHaveBeenCalled();
});
