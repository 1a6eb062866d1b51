/** `prl fleet check` on two hosts, which are two sshd on loopback. */
import { readdir } from "node:fs/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { missingSsh, type SshHosts, sshHosts } from "../../support/clusters/ssh-hosts.ts";
import { prl, workspace } from "../../support/prl.ts";

interface Report {
  ok: boolean;
  hosts: { host: string; checks: { name: string; status: string; detail: string; fix?: string }[] }[];
}

const isMissing = missingSsh.length > 0;
const ROLES = { a: ["trainer", "orchestrator"], b: ["inference"] } as const;

describe.skipIf(isMissing)(`prl fleet check${isMissing ? ` (not installed: ${missingSsh.join(", ")})` : ""}`, () => {
  let place: Awaited<ReturnType<typeof workspace>>;
  let hosts: SshHosts;
  beforeEach(async () => {
    place = await workspace("empty");
    hosts = await sshHosts(place.cache);
  });
  afterEach(async () => {
    await hosts.stop();
    await place.remove();
  });

  test("shows both hosts in one table, names what is not there, and leaves nothing behind", async () => {
    const file = await hosts.file(ROLES);
    const before = await readdir(hosts.dir, { recursive: true });
    const { stdout, stderr } = await prl(["fleet", "check", file], { cwd: place.dir, cache: place.cache });
    expect(stderr).toBe("");
    expect(stdout).toMatch(/^ +a +b\n/u);
    for (const name of ["ssh and prl", "Clock", "Node", "Disk", "Disk writes", "Shared memory", "Open files"])
      expect(stdout).toMatch(new RegExp(`^${name} {2}`, "mu"));
    for (const name of ["Driver", "GPUs", "All-reduce", "InfiniBand", "Sandbox tier"])
      expect(stdout).toMatch(new RegExp(`^${name} {2}`, "mu"));
    expect(stdout).toMatch(/^Disk of the cache .* in .*prl-e2e-/mu);
    expect(stdout).toMatch(/^2 hosts: /mu);
    expect(await readdir(hosts.dir, { recursive: true })).toEqual(before);
  });

  test("names a host that cannot be reached, and has the exit code of a problem", async () => {
    const file = await hosts.file(ROLES, { change: { b: { port: 1 } } });
    const { code, stdout } = await prl(["fleet", "check", file, "--json"], { cwd: place.dir, cache: place.cache });
    expect(code).toBe(1);
    const { ok, hosts: reports } = JSON.parse(stdout) as Report;
    expect([ok, reports.map(({ host }) => host)]).toEqual([false, ["a", "b"]]);
    const [a, b] = reports;
    expect(b?.checks).toMatchObject([{ name: "ssh and prl", status: "problem" }]);
    expect(b?.checks[0]?.detail).toContain("Connection refused");
    // Both are on this machine, so that their clocks are the same within the round trip.
    expect(a?.checks.find(({ name }) => name === "Clock")).toMatchObject({ status: "ok" });
  });
});
