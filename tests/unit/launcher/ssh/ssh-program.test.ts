/** The arguments of ssh, and what a refused connection is called. */
import { execFileSync } from "node:child_process";
import * as fc from "fast-check";
import { expect, test } from "vitest";

import { hostsFileSchema } from "../../../../ts/config/index.ts";
import { earlyDeathsAfter } from "../../../../ts/launcher/clusters/restart-rule.ts";
import { connectionRefused, sshArguments } from "../../../../ts/launcher/ssh/ssh-program.ts";

const { host } = hostsFileSchema.parse({
  host: [{ name: "a", address: "10.0.0.1", user: "me", roles: ["trainer"], dir: "/d", identity: "/k", port: 2200 }],
});
const [HOST] = host;
if (HOST === undefined) throw new Error("no host");

test("name the host and one command, never ask, and share no connection", () => {
  const args = sshArguments(HOST, { ssh_config: "/c" }, ["prl", "host-part"]);
  expect(args.slice(0, 2)).toEqual(["-F", "/c"]);
  expect(args.slice(-3)).toEqual(["--", "10.0.0.1", "exec prl host-part"]);
  for (const option of [
    "BatchMode=yes",
    "ControlMaster=no",
    "ControlPath=none",
    "ConnectTimeout=15",
    "ServerAliveInterval=5",
  ])
    expect(args).toContain(option);
  expect(args.join(" ")).toContain("-p 2200 -l me -o IdentitiesOnly=yes -i /k");
});

test("keep every word of the command as it is", () => {
  const word = fc.string({ unit: "binary", minLength: 1 }).filter((text) => !text.includes("\0"));
  fc.assert(
    fc.property(fc.array(word, { maxLength: 4 }), (words) => {
      const command = sshArguments(HOST, { ssh_config: null }, ["printf", "%s\\0", ...words]).at(-1) ?? "";
      const printed = execFileSync("sh", ["-c", command]).toString("utf8");
      expect(printed).toBe(words.length === 0 ? "\0" : `${words.join("\0")}\0`);
    }),
    { numRuns: 25 },
  );
});

test.each([
  ["me@10.0.0.1: Permission denied (publickey).", "authorized_keys"],
  ["Host key verification failed.", "known_hosts"],
  ["sh: 1: exec: prl: not found", "install prl on the host, or set command"],
  ["", "ssh ended without a word; see whether ssh reaches it"],
])("say what to do about %j", (said, advice) => {
  const { code, message } = connectionRefused(HOST, said);
  expect(code).toBe("PRL_SSH");
  expect(message).toContain("a (me@10.0.0.1): ");
  expect(message).toContain(advice);
});

test("start a server again that a signal ended or that lived long, five times in a row without a long life", () => {
  const killed = (early: number, livedS = 1) => earlyDeathsAfter({ isSignaled: true, livedS, early });
  expect([0, 1, 2, 3, 4, 5].map((early) => killed(early))).toEqual([1, 2, 3, 4, 5, null]);
  expect(killed(5, 60)).toBe(1);
  expect(earlyDeathsAfter({ isSignaled: false, livedS: 1, early: 0 })).toBeNull();
  expect(earlyDeathsAfter({ isSignaled: false, livedS: 61, early: 4 })).toBe(1);
});
