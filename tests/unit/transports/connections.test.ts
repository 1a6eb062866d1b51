import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

import * as fc from "fast-check";
import { afterEach, describe, expect, test } from "vitest";

import { PendingResponse, Connections, exchange, type Question } from "../../../ts/inference-client/index.ts";

const servers: Server[] = [];

async function serve(answer: (request: IncomingMessage, response: ServerResponse) => unknown): Promise<string> {
  const server = createServer((request, response) => void answer(request, response));
  servers.push(server);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

const question = (path: string, mostBytes = 1 << 20): Question => ({ method: "GET", path, mostBytes });
const textOf = async (pending: PendingResponse): Promise<string> => Buffer.from((await pending.answer).body).toString();

/** Holds requests back until they are let go. */
function holding() {
  const held: { path: string; response: ServerResponse }[] = [];
  const answer = ({ url = "" }: IncomingMessage, response: ServerResponse) => void held.push({ path: url, response });
  const until = async (count: number) => {
    while (held.length < count) await sleep(2);
  };
  return { held, answer, until };
}

describe("connections", () => {
  test("are opened as they are needed, so many at most, and the rest waits in its order", async () => {
    const { held, answer, until } = holding();
    const connections = new Connections(await serve(answer), { connections: 2 });
    const answers = ["/a", "/b", "/c", "/d"].map((path) => textOf(new PendingResponse(connections, question(path))));
    await until(2);
    expect(held.map(({ path }) => path).toSorted()).toEqual(["/a", "/b"]);
    expect(connections.size).toBe(2);
    const order: string[] = [];
    for (let ended = 0; ended < 4; ended++) {
      await until(1);
      const { path, response } = held.shift() ?? expect.fail("nothing is held");
      order.push(path);
      response.end(path);
    }
    expect(await Promise.all(answers)).toEqual(["/a", "/b", "/c", "/d"]);
    expect(order.slice(2)).toEqual(["/c", "/d"]);
    await connections.destroy();
  });

  test("answer each request once whatever the server does, never more than one at a time on each", async () => {
    const onSocket = new Map<unknown, number>();
    let most = 0;
    const url = await serve((request, response) => {
      const { socket, url: path = "" } = request;
      onSocket.set(socket, (onSocket.get(socket) ?? 0) + 1);
      most = Math.max(most, onSocket.get(socket) ?? 0);
      const [, kind, ms] = path.split("/");
      setTimeout(() => {
        onSocket.set(socket, (onSocket.get(socket) ?? 0) - 1);
        if (kind === "break") socket.destroy();
        else if (kind === "half") response.writeHead(200, { "content-length": 9 }).write("1", () => socket.destroy());
        else if (kind === "close") response.writeHead(200, { connection: "close" }).end(path);
        else response.end(path);
      }, Number(ms));
    });
    const asked = fc.tuple(fc.constantFrom("ok", "ok", "close", "break", "half", "cancel"), fc.nat(6));
    await fc.assert(
      fc.asyncProperty(
        fc.array(asked, { minLength: 1, maxLength: 30 }),
        fc.integer({ min: 1, max: 6 }),
        async (all, n) => {
          const connections = new Connections(url, { connections: n });
          const ends = await Promise.all(
            all.map(async ([kind, ms], i) => {
              const path = `/${kind}/${ms}/${i}`;
              const pending = new PendingResponse(connections, question(path));
              if (kind === "cancel") setTimeout(() => pending.cancel(new Error("not wanted")), ms / 2);
              try {
                return (await textOf(pending)) === path;
              } catch {
                return false;
              }
            }),
          );
          expect(connections.size).toBeLessThanOrEqual(n);
          all.forEach(([kind], i) => kind !== "cancel" && expect(ends[i]).toBe(kind === "ok" || kind === "close"));
          // None of it costs a connection its place.
          const after = Array.from({ length: n }, (_, i) =>
            textOf(new PendingResponse(connections, question(`/ok/1/${i}`))),
          );
          expect(await Promise.all(after)).toHaveLength(n);
          await connections.destroy();
        },
      ),
      { numRuns: 25 },
    );
    expect(most).toBe(1);
  });

  test("let an exchange that waits for one end at its abort and at its deadline", { timeout: 10_000 }, async () => {
    const { held, answer, until } = holding();
    const url = await serve(answer);
    const connections = new Connections(url, { connections: 1 });
    const asked = { method: "GET", path: "/", deadlineMs: 600_000, retries: 0 } as const;
    const first = exchange(connections, url, asked);
    await until(1);
    const stop = new AbortController();
    const aborted = exchange(connections, url, { ...asked, signal: stop.signal });
    const late = exchange(connections, url, { ...asked, deadlineMs: 1 });
    const last = exchange(connections, url, asked);
    stop.abort(new Error("not wanted"));
    await expect(aborted).rejects.toThrow("not wanted");
    await expect(late).rejects.toMatchObject({ code: "PRL_INFERENCE_TIMEOUT" });
    // Neither of them was sent, and neither cost the connection.
    held.shift()?.response.end("first");
    expect(await first).toBe("first");
    await until(1);
    held.shift()?.response.end("last");
    expect(await last).toBe("last");
    await connections.destroy();
  });

  test("fail the running, waiting and later requests when they end", async () => {
    const { answer, until } = holding();
    const connections = new Connections(await serve(answer), { connections: 1 });
    const allPending = ["/a", "/b"].map((path) => new PendingResponse(connections, question(path)));
    const ends = Promise.allSettled(allPending.map((pending) => pending.answer));
    await until(1);
    await connections.destroy();
    expect((await ends).map(({ status }) => status)).toEqual(["rejected", "rejected"]);
    await expect(new PendingResponse(connections, question("/c")).answer).rejects.toMatchObject({
      code: "UND_ERR_DESTROYED",
    });
    await connections.destroy();
  });

  test("are opened anew when there was no listener at first", async () => {
    const url = await serve((_, response) => response.end("now"));
    const server = servers.pop() ?? expect.fail("no server");
    const { port } = server.address() as AddressInfo;
    server.close();
    await once(server, "close");
    const connections = new Connections(url, { connections: 1 });
    await expect(new PendingResponse(connections, question("/")).answer).rejects.toMatchObject({
      code: "ECONNREFUSED",
    });
    const again = createServer((_, response) => response.end("now"));
    servers.push(again);
    again.listen(port, "127.0.0.1");
    await once(again, "listening");
    expect(await textOf(new PendingResponse(connections, question("/")))).toBe("now");
    await connections.destroy();
  });
});

describe("a pending response", () => {
  test("gives status and bytes of an answer in one piece or in many", async () => {
    const url = await serve(async (request, response) => {
      response.statusCode = request.url === "/teapot" ? 418 : 200;
      for (let piece = 0; piece < 20; piece++) {
        response.write(Buffer.alloc(3_000, piece));
        await sleep(1);
      }
      response.end();
    });
    const connections = new Connections(url, { connections: 2 });
    const [whole, refused] = await Promise.all(
      ["/", "/teapot"].map((path) => new PendingResponse(connections, question(path)).answer),
    );
    expect([whole?.status, refused?.status]).toEqual([200, 418]);
    const expected = Buffer.concat(Array.from({ length: 20 }, (_, piece) => Buffer.alloc(3_000, piece)));
    expect(expected.equals(whole?.body ?? Buffer.alloc(0))).toBe(true);
    await connections.destroy();
  });

  test("ends at once when it is cancelled, waiting or under way, and the server notices", async () => {
    const gone: string[] = [];
    const url = await serve(({ url: path = "" }, response) => void response.on("close", () => gone.push(path)));
    const connections = new Connections(url, { connections: 1 });
    const allPending = ["/under-way", "/waiting"].map((path) => new PendingResponse(connections, question(path)));
    const ends = allPending.map((pending) => expect(pending.answer).rejects.toThrow("enough"));
    await sleep(50);
    for (const pending of allPending.toReversed()) pending.cancel(new Error("enough"));
    await Promise.all(ends);
    while (gone.length === 0) await sleep(2);
    await sleep(20);
    expect(gone).toEqual(["/under-way"]);
    await connections.destroy();
  });

  test("ends when the answer is too long", async () => {
    const url = await serve((_, response) => response.end(Buffer.alloc(4_000)));
    const connections = new Connections(url, { connections: 1 });
    await expect(new PendingResponse(connections, question("/", 3_999)).answer).rejects.toThrow("more than 3999 bytes");
    expect((await new PendingResponse(connections, question("/", 4_000)).answer).body).toHaveLength(4_000);
    await connections.destroy();
  });
});
