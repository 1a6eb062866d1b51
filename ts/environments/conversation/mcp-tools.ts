/**
 * The tools of a server of the Model Context Protocol, for `toolUse`: each rollout has its own connection (and, where the server is a
 * program, its own process) from its start to its end.
 *
 * The policy sees the answer of a tool, also an error. A program that cannot be started is the environment's error; a server that
 * is late, or is lost while it serves, is an `infra` error, and the rollout may be tried again. The official SDK is loaded when the first server is opened.
 */
import { availableParallelism } from "node:os";

import { z } from "zod";

import type { Client } from "@modelcontextprotocol/sdk/client/index.js";
import type { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";

import { messageOf, PrlError } from "../../errors.ts";
import { checkOptions, number, only } from "../../options.ts";
import { untilAborted } from "../../async/deadline.ts";
import { Slots } from "../../async/slots.ts";
import { shown, type Tool, type ToolSource } from "./tool.ts";

export interface McpProgram {
  /** Speaks the protocol on its standard input and output. */
  readonly command: string;
  readonly args?: readonly string[];
  /** Variables in addition to the few that a program inherits (PATH, HOME, ...). */
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
}

export interface McpAddress {
  /** Streamable HTTP. */
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface McpOptions {
  /** Time for one call of a tool. Default 30000. */
  readonly timeoutMs?: number;
  /** Time for the server to start and to list its tools. Default 30000. */
  readonly startTimeoutMs?: number;
  /** Only these of its tools, by the server's names. Default: all. */
  readonly only?: readonly string[];
  /** Prefix for the names of its tools, so that two servers do not clash. Default: none. */
  readonly prefix?: string;
}

const TIMEOUT_MS = 30_000;
const CLOSE_DEADLINE_MS = 5_000;
/** Time for a server to take back its session. */
const SESSION_DEADLINE_MS = 2_000;
/** Most pages of a server's list of tools. */
const MOST_PAGES = 100;
/** Codes of the protocol's own errors. */
const CONNECTION_CLOSED = -32_000;
const REQUEST_TIMEOUT = -32_001;

/**
 * Programs that this process starts at the same time. A start needs the processor: if all rollouts started one at once, none would
 * answer in time.
 */
const starting = new Slots(Math.max(2, availableParallelism()));

const OPTIONS = {
  timeoutMs: number.optional(),
  startTimeoutMs: number.optional(),
  only: z.array(z.string()).optional(),
  prefix: z.string().optional(),
};
const texts = z.record(z.string(), z.string()).optional();
const programSchema = only<McpProgram & McpOptions>({
  ...OPTIONS,
  command: z.string(),
  args: z.array(z.string()).optional(),
  env: texts,
  cwd: z.string().optional(),
});
const addressSchema = only<McpAddress & McpOptions>({ ...OPTIONS, url: z.string(), headers: texts });

type McpServer = (McpProgram | McpAddress) & McpOptions;

/** A server for `servers` of `toolUse`. */
export function mcpTools(server: McpServer): ToolSource {
  checkOptions("PRL_ENVIRONMENT_INVALID", "mcpTools", "url" in server ? addressSchema : programSchema, server);
  const what = "url" in server ? server.url : server.command;
  return {
    async open(signal) {
      const opened = (): Promise<Client> => connect(server, what, signal);
      const client = await ("url" in server ? opened() : starting.run(signal, opened));
      const lost = new AbortController();
      const onclose = (): void => lost.abort(new PrlError("PRL_TOOL_SERVER", `the MCP server ${what} is gone`));
      // The SDK takes one handler, as a property.
      Object.assign(client, { onclose });
      try {
        const tools = await listTools(client, server, what, AbortSignal.any([signal, lost.signal]));
        const entries = tools.map(
          (tool) => [`${server.prefix ?? ""}${tool.name}`, toTool(client, server, tool, lost.signal)] as const,
        );
        return { tools: Object.fromEntries(entries), close: () => close(client) };
      } catch (error) {
        await close(client);
        throw error;
      }
    },
  };
}

interface Listed {
  readonly name: string;
  readonly description?: string | undefined;
  readonly inputSchema: Readonly<Record<string, unknown>>;
}

async function connect(server: McpServer, what: string, outer: AbortSignal): Promise<Client> {
  const { Client: McpClient } = await import("@modelcontextprotocol/sdk/client/index.js");
  const client = new McpClient({ name: "prl", version: "1.0.0" });
  const transport = await openTransport(server);
  const late = AbortSignal.timeout(server.startTimeoutMs ?? TIMEOUT_MS);
  const signal = AbortSignal.any([outer, late]);
  try {
    await untilAborted(() => client.connect(transport, { signal }), signal);
    return client;
  } catch (cause) {
    await close(client);
    outer.throwIfAborted();
    const isLate = late.aborted;
    const why = isLate ? `it does not answer within ${server.startTimeoutMs ?? TIMEOUT_MS} ms` : messageOf(cause);
    // A program that cannot be started is the environment's error. A slow one may be slow because the machine is busy.
    const code = "url" in server || isLate ? "PRL_TOOL_SERVER" : "PRL_ENVIRONMENT_FAILED";
    throw new PrlError(code, `the MCP server ${what} cannot be opened: ${why}`, { cause });
  }
}

async function openTransport(server: McpServer): Promise<Transport> {
  if ("url" in server) {
    const { StreamableHTTPClientTransport } = await import("@modelcontextprotocol/sdk/client/streamableHttp.js");
    const { url, headers = {} } = server;
    return new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers: { ...headers } } });
  }
  const { getDefaultEnvironment, StdioClientTransport } = await import("@modelcontextprotocol/sdk/client/stdio.js");
  const { command, args = [], env = {}, cwd } = server;
  return new StdioClientTransport({
    command,
    args: [...args],
    env: { ...getDefaultEnvironment(), ...env },
    stderr: "ignore",
    ...(cwd === undefined ? {} : { cwd }),
  });
}

async function listTools(client: Client, server: McpServer, what: string, signal: AbortSignal): Promise<Listed[]> {
  const found: Listed[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < MOST_PAGES; page++) {
    const options = { signal, timeout: server.startTimeoutMs ?? TIMEOUT_MS };
    const answer = await client.listTools(cursor === undefined ? {} : { cursor }, options).catch((cause: unknown) => {
      signal.throwIfAborted();
      throw new PrlError("PRL_TOOL_SERVER", `the MCP server ${what} does not list its tools: ${messageOf(cause)}`, {
        cause,
      });
    });
    found.push(...answer.tools);
    cursor = answer.nextCursor;
    if (cursor === undefined) break;
  }
  const { only: wanted } = server;
  const missing = wanted?.find((name) => !found.some((tool) => tool.name === name));
  if (missing !== undefined) {
    const known = found.map(({ name }) => name).join(", ");
    throw new PrlError("PRL_ENVIRONMENT_FAILED", `the MCP server ${what} has no tool "${missing}"; it has ${known}`);
  }
  return wanted === undefined ? found : found.filter(({ name }) => wanted.includes(name));
}

function toTool(
  client: Client,
  { timeoutMs = TIMEOUT_MS }: McpServer,
  { name, description = "", inputSchema }: Listed,
  lost: AbortSignal,
): Tool<unknown, unknown, unknown> {
  return {
    description,
    schema: inputSchema,
    async call(args, { signal }) {
      try {
        const given = typeof args === "object" && args !== null ? { ...args } : {};
        const either = AbortSignal.any([signal, lost]);
        const work = () =>
          client.callTool({ name, arguments: given }, undefined, { signal: either, timeout: timeoutMs });
        const { content, structuredContent, isError } = await untilAborted(work, either);
        const text = Array.isArray(content) ? contentText(content) : "";
        return {
          text: shown(text === "" && structuredContent !== undefined ? structuredContent : text),
          failed: isError === true,
        };
      } catch (error) {
        signal.throwIfAborted();
        lost.throwIfAborted();
        const code = codeOf(error);
        if (code === CONNECTION_CLOSED)
          throw new PrlError("PRL_TOOL_SERVER", `the MCP server of ${name} is gone`, { cause: error });
        const message = code === REQUEST_TIMEOUT ? `the tool did not end within ${timeoutMs} ms` : messageOf(error);
        // An error with a code comes from the protocol: wrong arguments, an unknown tool. Others come from the connection.
        if (code === null)
          throw new PrlError("PRL_TOOL_SERVER", `the MCP server of ${name}: ${message}`, { cause: error });
        return { text: `Error: ${message}`, failed: true };
      }
    },
  };
}

/** Text stays as it is; other content is replaced by its type. */
function contentText(content: readonly unknown[]): string {
  const parts = content.map((part) => {
    const { type, text, mimeType, uri, resource } = part as Readonly<Record<string, unknown>>;
    if (typeof text === "string") return text;
    if (typeof resource === "object" && resource !== null && "text" in resource) return String(resource.text);
    return `[${[type, mimeType, uri].filter((word) => typeof word === "string").join(" ")}]`;
  });
  return parts.join("\n");
}

async function close(client: Client): Promise<void> {
  await endSession(client.transport).catch(() => undefined);
  const late = AbortSignal.timeout(CLOSE_DEADLINE_MS);
  // The server was asked to close; when it does not, the SDK kills its process.
  await untilAborted(() => client.close(), late).catch(() => undefined);
}

/** A server over HTTP keeps a session, with all that it holds for it, until it is asked to end it: closing the client does not ask. */
async function endSession(transport: Transport | undefined): Promise<void> {
  if (transport === undefined || !("terminateSession" in transport)) return;
  const http = transport as StreamableHTTPClientTransport;
  await untilAborted(() => http.terminateSession(), AbortSignal.timeout(SESSION_DEADLINE_MS));
}

/** The code of a protocol error; null for any other error. */
function codeOf(error: unknown): number | null {
  if (typeof error !== "object" || error === null || !("code" in error)) return null;
  const { code } = error;
  return typeof code === "number" && code < 0 ? code : null;
}
