/** Downloads go through the proxies that the environment names. */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer, type IncomingMessage, request as ask, type Server, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { platform, tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";

import { datasetFiles } from "../../../ts/datasets/dataset.ts";
import { hubSettings } from "../../../ts/hub/settings.ts";
import { proxiedFetch, proxiesOf } from "../../../ts/proxied-fetch.ts";
import { mockHub, type MockHub } from "../../support/hub/mock-hub.ts";

const FILES = { "main/train.jsonl": Buffer.from('{"text": "a"}\n'.repeat(100)) };
/** No name server knows it. */
const NOWHERE = "hub.invalid";

let root: string;
let hub: MockHub;
let proxy: Server;
let seen: string[];
beforeEach(async () => {
  root = mkdtempSync(join(tmpdir(), "prl-proxy-"));
  hub = await mockHub(FILES);
  seen = [];
  proxy = createServer((request: IncomingMessage, response: ServerResponse) => {
    seen.push(`${request.method} ${request.url} ${request.headers["proxy-authorization"] ?? ""}`);
    const { pathname, search, host } = new URL(request.url ?? "");
    if (host !== NOWHERE) return void response.writeHead(400).end();
    const { range } = request.headers;
    const passed = ask(
      new URL(pathname + search, hub.url),
      { headers: range === undefined ? {} : { range } },
      (answer) => {
        response.writeHead(answer.statusCode ?? 500, answer.headers);
        answer.pipe(response);
      },
    );
    passed.end();
  });
  proxy.on("connect", (request: IncomingMessage, socket: Socket) => {
    seen.push(`CONNECT ${request.url}`);
    socket.end("HTTP/1.1 502 Bad Gateway\r\n\r\n");
  });
  await new Promise<void>((done) => proxy.listen(0, "127.0.0.1", done));
});
afterEach(async () => {
  proxy.closeAllConnections();
  await new Promise<void>((done) => proxy.close(() => done()));
  await hub.close();
  rmSync(root, { recursive: true });
});

const address = (): string => `127.0.0.1:${(proxy.address() as AddressInfo).port}`;
const fetched = (env: Record<string, string>) =>
  datasetFiles({ dataset: "owner/name", config: "main", split: "train" }, undefined, {
    ...hubSettings({ PRL_CACHE_DIR: root, HF_HOME: root, ...env }),
    attempts: 2,
    backoffMs: 5,
    answerMs: 2_000,
  });

test("a hub that only the proxy reaches is read through it, with the password for the proxy", async () => {
  const [file = ""] = await fetched({ HF_ENDPOINT: `http://${NOWHERE}`, HTTP_PROXY: `http://me:secret@${address()}` });
  expect(readFileSync(file)).toEqual(FILES["main/train.jsonl"]);
  expect(seen.length).toBeGreaterThan(1);
  for (const one of seen) expect(one).toMatch(/^GET http:\/\/hub\.invalid\/.* Basic bWU6c2VjcmV0$/u);
});

test("https goes through a tunnel of its proxy", async () => {
  const asked = fetched({ HF_ENDPOINT: `https://${NOWHERE}`, https_proxy: address(), HTTPS_PROXY: "127.0.0.1:1" });
  await expect(asked).rejects.toMatchObject({ code: "PRL_HUB_UNREACHABLE" });
  expect(new Set(seen)).toEqual(new Set([`CONNECT ${NOWHERE}:443`]));
});

test.each([
  ["https", "HTTP_PROXY"],
  ["http", "HTTPS_PROXY"],
])("%s does not go through %s", async (scheme, variable) => {
  const asked = fetched({ HF_ENDPOINT: `${scheme}://${NOWHERE}`, [variable]: address() });
  await expect(asked).rejects.toMatchObject({ code: "PRL_HUB_UNREACHABLE" });
  expect(seen).toEqual([]);
});

test.each([{ NO_PROXY: `other.example,.invalid` }, { NO_PROXY: "*" }, { no_proxy: NOWHERE, NO_PROXY: "x" }])(
  "hosts of %j are reached without it",
  async (without) => {
    const asked = fetched({ HF_ENDPOINT: `http://${NOWHERE}`, ALL_PROXY: address(), ...without });
    await expect(asked).rejects.toMatchObject({ code: "PRL_HUB_UNREACHABLE" });
    expect(seen).toEqual([]);
  },
);

test("a hub of this machine is reached without it", async () => {
  await fetched({ HF_ENDPOINT: hub.url, HTTP_PROXY: address() });
  expect(seen).toEqual([]);
});

test.skipIf(platform() !== "linux").each(["127.0.0.2", "127.255.0.9"])("nor is one at %s", async (host) => {
  const server = createServer((_request, response) => void response.end("direct"));
  await new Promise<void>((done) => server.listen(0, host, done));
  try {
    const { port } = server.address() as AddressInfo;
    const response = await proxiedFetch(proxiesOf({ ALL_PROXY: address() }), `http://${host}:${port}/`);
    expect(await response.text()).toBe("direct");
    expect(seen).toEqual([]);
  } finally {
    server.closeAllConnections();
    await new Promise<void>((done) => server.close(() => done()));
  }
});

test("a variable that names no proxy is named, without its password", async () => {
  const asked = fetched({ HF_ENDPOINT: hub.url, ALL_PROXY: "ftp://me:secret@proxy.example" });
  await expect(asked).rejects.toMatchObject({ code: "PRL_CONFIG_ENVIRONMENT" });
  await expect(asked).rejects.toThrow(/ALL_PROXY: expected the address of a proxy .* got one of ftp/u);
  await expect(asked).rejects.not.toThrow(/secret/u);
});
