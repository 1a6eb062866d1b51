/** A hub of datasets on this machine that misbehaves as a test tells it. */
import { createHash } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export interface MockHub {
  url: string;
  /** `METHOD path` with the range behind it, in their order. */
  requests: string[];
  headers: IncomingMessage["headers"][];
  /** Asked before every request; unless it says false it has answered, or never will. */
  trouble: (request: IncomingMessage, response: ServerResponse, content: Buffer | null) => unknown;
  close(): Promise<void>;
}

const LARGE = 1000;

export function gitDigest(content: Buffer): string {
  return createHash("sha1").update(`blob ${content.length}\0`).update(content).digest("hex");
}

type Files = Readonly<Record<string, Buffer>>;

/** One dataset, `owner/name`, with these files at the commit `c...c`; files of 1000 bytes and more are large ones, with SHA-256. */
export function mockHub(files: Files, pageSize = 2): Promise<MockHub> {
  return mockHubOf({ "owner/name": files }, pageSize);
}

const entry = ([path, content]: [string, Buffer]) => ({
  type: "file",
  path,
  size: content.length,
  oid: content.length < LARGE ? gitDigest(content) : "0".repeat(40),
  ...(content.length < LARGE
    ? {}
    : { lfs: { oid: createHash("sha256").update(content).digest("hex"), size: content.length } }),
});

/** Several, by their names. */
export async function mockHubOf(datasets: Readonly<Record<string, Files>>, pageSize = 2): Promise<MockHub> {
  const commit = "c".repeat(40);
  const hub: Omit<MockHub, "url" | "close"> = { requests: [], headers: [], trouble: () => false };
  const json = (response: ServerResponse, value: unknown, headers: Record<string, string> = {}) =>
    response.writeHead(200, { "content-type": "application/json", ...headers }).end(JSON.stringify(value));
  const answer = (request: IncomingMessage, response: ServerResponse): void => {
    const url = new URL(request.url ?? "", "http://127.0.0.1");
    const range = request.headers.range;
    hub.requests.push(`${request.method} ${url.pathname}${range === undefined ? "" : ` ${range}`}`);
    hub.headers.push(request.headers);
    const path = decodeURIComponent(url.pathname);
    const name = /^(?:\/api)?\/datasets\/([^/]+\/[^/]+)\//u.exec(path)?.[1] ?? "";
    const files = datasets[name] ?? {};
    const content = files[/\/resolve\/c{40}\/(.*)$/u.exec(path)?.[1] ?? ""];
    if (hub.trouble(request, response, content ?? null) !== false) return;
    if (name in datasets && /\/revision\/(main|v1|refs%2Fconvert%2Fparquet)$/u.test(url.pathname)) {
      json(response, { sha: commit });
    } else if (name in datasets && url.pathname.endsWith(`/tree/${commit}`)) {
      const entries = Object.entries(files).map(entry);
      const from = Number(url.searchParams.get("cursor") ?? "0");
      const next = from + pageSize;
      const link = { link: `<${url.pathname}?recursive=true&cursor=${next}>; rel="next"` };
      json(
        response,
        [{ type: "directory", path: "data" }, ...entries.slice(from, next)],
        next < entries.length ? link : {},
      );
    } else if (content !== undefined) {
      const start = Number(/^bytes=(\d+)-$/u.exec(range ?? "")?.[1] ?? "0");
      const headers = start === 0 ? {} : { "content-range": `bytes ${start}-${content.length - 1}/${content.length}` };
      response.writeHead(start === 0 ? 200 : 206, headers).end(content.subarray(start));
    } else response.writeHead(404).end();
  };
  const server = createServer(answer);
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  return Object.assign(hub, {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () =>
      new Promise<void>((done) => {
        server.close(() => done());
        server.closeAllConnections();
      }),
  });
}
