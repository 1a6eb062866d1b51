/** Calls of models go through the proxies that the environment names. */
import { createServer, type Server } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { afterEach, beforeEach, expect, test, vi } from "vitest";

import { type EndpointOptions, openEndpoint } from "../../../../ts/environments/index.ts";
import { chatCompletion, mockEndpoint } from "../../../support/mock-endpoint.ts";

/** No name server knows it. */
const NOWHERE = "model.invalid";

let proxy: Server;
let seen: string[];
beforeEach(async () => {
  for (const name of ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"])
    for (const variable of [name, name.toLowerCase()]) vi.stubEnv(variable, "");
  seen = [];
  proxy = createServer((request, response) => {
    seen.push(`${request.method} ${request.url} ${request.headers["proxy-authorization"] ?? ""}`);
    request.resume();
    request.on("end", () => response.end(JSON.stringify(chatCompletion("through the proxy"))));
  });
  proxy.on("connect", (request, socket: Socket) => {
    seen.push(`CONNECT ${request.url}`);
    socket.end("HTTP/1.1 502 Bad Gateway\r\n\r\n");
  });
  await new Promise<void>((done) => proxy.listen(0, "127.0.0.1", done));
});
afterEach(async () => {
  vi.unstubAllEnvs();
  proxy.closeAllConnections();
  await new Promise<void>((done) => proxy.close(() => done()));
});

const address = (): string => `127.0.0.1:${(proxy.address() as AddressInfo).port}`;

async function asked(url: string, options: Partial<EndpointOptions> = {}): Promise<unknown> {
  const endpoint = openEndpoint({ url, model: "m", maxRetries: 0, ...options });
  try {
    const sampling = { temperature: 0.5, maxCompletionTokens: 16, topP: 1, topK: -1 };
    const prompt = [{ role: "user" as const, content: "hi" }];
    const { signal } = new AbortController();
    return (await endpoint.reply({ prompt, sampling, seed: 5, signal })).message.content;
  } finally {
    await endpoint.close();
  }
}

test("an endpoint that only the proxy reaches is asked through it, with the password for the proxy", async () => {
  vi.stubEnv("HTTP_PROXY", `http://me:secret@${address()}`);
  expect(await asked(`http://${NOWHERE}/v1`)).toBe("through the proxy");
  expect(await asked(`http://${NOWHERE}/v1`, { stream: true })).toBe("through the proxy");
  const call = `POST http://${NOWHERE}/v1/chat/completions Basic bWU6c2VjcmV0`;
  expect(seen).toEqual([call, call]);
});

test("https goes through a tunnel of its proxy, and http without one", async () => {
  vi.stubEnv("https_proxy", address());
  await expect(asked(`https://${NOWHERE}/v1`)).rejects.toMatchObject({ code: "PRL_INFERENCE_UNREACHABLE" });
  await expect(asked(`http://${NOWHERE}/v1`)).rejects.toMatchObject({ code: "PRL_INFERENCE_UNREACHABLE" });
  expect(seen).toEqual([`CONNECT ${NOWHERE}:443`]);
});

test("hosts of NO_PROXY and this machine are asked without it", async () => {
  vi.stubEnv("ALL_PROXY", address());
  vi.stubEnv("NO_PROXY", ".invalid");
  await expect(asked(`http://${NOWHERE}/v1`)).rejects.toMatchObject({ code: "PRL_INFERENCE_UNREACHABLE" });
  const here = await mockEndpoint(() => chatCompletion("here"));
  const { port } = new URL(here.url);
  for (const host of ["127.0.0.1", "localhost"]) expect(await asked(`http://${host}:${port}/v1`)).toBe("here");
  for (const host of ["127.1.2.3", "[::1]", "a.localhost"])
    await expect(asked(`http://${host}:1/v1`)).rejects.toMatchObject({ code: "PRL_INFERENCE_UNREACHABLE" });
  await here.close();
  expect(seen).toEqual([]);
});

test("a variable that names no proxy is named, without its password", async () => {
  vi.stubEnv("ALL_PROXY", "ftp://me:secret@proxy.example");
  const call = asked(`http://${NOWHERE}/v1`);
  await expect(call).rejects.toMatchObject({ code: "PRL_CONFIG_ENVIRONMENT" });
  await expect(call).rejects.not.toThrow(/secret/u);
});
