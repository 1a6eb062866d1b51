/** A hub of datasets and models on this machine that misbehaves as a test asks. */
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

/** Several datasets, by their names. */
export function mockHubOf(datasets: Readonly<Record<string, Files>>, pageSize = 2): Promise<MockHub> {
  return serve(
    Object.fromEntries(Object.entries(datasets).map(([name, files]) => [`datasets/${name}`, files])),
    pageSize,
  );
}

/** Several models, by their names. */
export function mockModelHub(models: Readonly<Record<string, Files>>, pageSize = 2): Promise<MockHub> {
  return serve(Object.fromEntries(Object.entries(models).map(([name, files]) => [`models/${name}`, files])), pageSize);
}

/** The commit of every repository. */
export const COMMIT = "c".repeat(40);

/** Repositories by `datasets/owner/name` or `models/owner/name`. Files of models have no folder in their addresses. */
async function serve(repositories: Readonly<Record<string, Files>>, pageSize: number): Promise<MockHub> {
  const hub: Omit<MockHub, "url" | "close"> = { requests: [], headers: [], trouble: () => false };
  const json = (response: ServerResponse, value: unknown, headers: Record<string, string> = {}) =>
    response.writeHead(200, { "content-type": "application/json", ...headers }).end(JSON.stringify(value));
  const answer = (request: IncomingMessage, response: ServerResponse): void => {
    const url = new URL(request.url ?? "", "http://127.0.0.1");
    const range = request.headers.range;
    hub.requests.push(`${request.method} ${url.pathname}${range === undefined ? "" : ` ${range}`}`);
    hub.headers.push(request.headers);
    const path = decodeURIComponent(url.pathname);
    const [, kind, plain = ""] = /^(?:\/api)?\/(?:(datasets|models)\/)?([^/]+\/[^/]+)\//u.exec(path) ?? [];
    const name = `${kind ?? "models"}/${plain}`;
    const files = repositories[name] ?? {};
    const content = files[/\/resolve\/c{40}\/(.*)$/u.exec(path)?.[1] ?? ""];
    if (hub.trouble(request, response, content ?? null) !== false) return;
    if (name in repositories && /\/revision\/(main|v1|refs%2F[\w%]+)$/u.test(url.pathname)) {
      json(response, { sha: COMMIT });
    } else if (name in repositories && url.pathname.endsWith(`/tree/${COMMIT}`)) {
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
      const [, from, to] = /^bytes=(\d+)-(\d*)$/u.exec(range ?? "") ?? [];
      const start = Number(from ?? "0");
      const end = to === undefined || to === "" ? content.length : Math.min(content.length, Number(to) + 1);
      const headers = { "content-range": `bytes ${start}-${end - 1}/${content.length}` };
      response.writeHead(range === undefined ? 200 : 206, range === undefined ? {} : headers);
      response.end(content.subarray(start, end));
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
