/** `hosts.toml`: what it may say, and where its mistakes are. */
import { homedir } from "node:os";
import { join } from "node:path";
import * as fc from "fast-check";
import { expect, test } from "vitest";

import { describeSchema, hostsFileSchema, readHostsFile } from "../../../ts/config/index.ts";
import { folderWith, prlErrorOf } from "./support.ts";

const HOST = `[[host]]
name = "a"
address = "10.0.0.1"
roles = ["trainer", "orchestrator", "inference"]
dir = "/data"
`;

const read = (text: string) => readHostsFile("hosts.toml", folderWith({ "hosts.toml": text }));

test("fills defaults, and begins relative paths at the folder of the file", async () => {
  const folder = folderWith({ "in/hosts.toml": `ssh_config = "config"\n${HOST}identity = "~/.ssh/key"\n` });
  const { hosts, provenance } = await readHostsFile("in/hosts.toml", folder);
  expect(hosts.ssh_config).toBe(join(folder, "in/config"));
  expect(hosts.first_port).toBe(7300);
  expect(hosts.host[0]).toEqual({
    name: "a",
    address: "10.0.0.1",
    internal_address: null,
    port: null,
    user: null,
    identity: join(homedir(), ".ssh/key"),
    roles: ["trainer", "orchestrator", "inference"],
    command: ["prl"],
    tls_cert: null,
    tls_key: null,
    dir: "/data",
    env: {},
  });
  expect(provenance.get("host.0.roles")).toMatchObject({ line: 5 });
});

test.each([
  ["", "host: is required"],
  [HOST.replace("10.0.0.1", "-oProxyCommand=x"), "hosts.toml:3: host.0.address: must be an IP address or a host name"],
  [HOST.replace("10.0.0.1", "me@there"), "hosts.toml:3: host.0.address"],
  [HOST.replace("/data", "data"), "hosts.toml:5: host.0.dir: takes an absolute path"],
  [HOST.replace('"inference"', '"inferense"'), "hosts.toml:4: host.0.roles.2: expected"],
  [HOST.replace('["trainer", "orchestrator", "inference"]', "[]"), "hosts.toml:4: host.0.roles"],
  [HOST.replace('"orchestrator"', '"trainer"'), "hosts.toml:4: host.0.roles: names a role twice"],
  [`${HOST}usr = "me"\n`, 'hosts.toml:6: host.0.usr: unknown key; did you mean "user"?'],
  [`${HOST}user = "-l root"\n`, "hosts.toml:6: host.0.user: takes the name of a user"],
  [`${HOST}env = { "A B" = "x" }\n`, "host.0.env"],
  [`${HOST}command = ["a\\nb"]\n`, "hosts.toml:6: host.0.command.0: is one line"],
  [HOST.replace('"inference"', '"env-worker"'), "host.0.tls_cert: is unset, and the host has the role env-worker"],
  [`${HOST}tls_key = "/etc/key.pem"\n`, "host.0.tls_cert: is unset, and tls_key needs it"],
  [HOST + HOST, "hosts.toml:7: host.1.name: is the name of host 0 too"],
  ["host = 3", "hosts.toml:1: host: expected"],
  ["[[host]", "hosts.toml:1:8:"],
])("refuses %j", async (text, message) => {
  const { message: said, code } = await prlErrorOf(read(text));
  expect(code).toMatch(/^PRL_CONFIG_(INVALID|SYNTAX)$/u);
  expect(said).toContain(message);
});

test("wants no certificate for an env worker that is reached by loopback", async () => {
  const loopback = `${HOST.replace('"inference"', '"env-worker"')}internal_address = "127.0.0.1"\n`;
  expect((await read(loopback)).hosts.host[0]?.roles).toContain("env-worker");
});

test("describes every key", () => {
  const silent = describeSchema(hostsFileSchema).filter(({ description }) => !/\w+ \w+/u.test(description));
  expect(silent.map(({ key }) => key)).toEqual([]);
});

test("says what is wrong with any document, and never fails otherwise", async () => {
  await fc.assert(
    fc.asyncProperty(fc.jsonValue(), async (value) => {
      const folder = folderWith({ "hosts.json": JSON.stringify({ host: [value] }) });
      const { code } = await prlErrorOf(readHostsFile("hosts.json", folder));
      expect(code).toBe("PRL_CONFIG_INVALID");
    }),
    { numRuns: 50 },
  );
});
