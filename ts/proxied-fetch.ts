/**
 * `fetch` and connections through the proxies that the environment names, as other programs go: Node's own know none.
 *
 * HTTPS_PROXY, HTTP_PROXY, ALL_PROXY and NO_PROXY count, in small letters first. undici's agent is loaded only where a proxy is named.
 */
import type { Dispatcher } from "undici";

import { PrlError } from "./errors.ts";

/** A proxy as a variable names it. */
interface Named {
  readonly variable: string;
  readonly value: string;
}

export interface Proxies {
  /** For https, and for http; null: none. */
  readonly https: Named | null;
  readonly http: Named | null;
  /** Hosts that are reached without one, as NO_PROXY writes them. */
  readonly no: string;
}

export function proxiesOf(env: Readonly<Record<string, string | undefined>>): Proxies {
  const first = (...names: readonly string[]): Named | null => {
    const variable = names.flatMap((one) => [one.toLowerCase(), one]).find((one) => (env[one] ?? "").trim() !== "");
    return variable === undefined ? null : { variable, value: env[variable]?.trim() ?? "" };
  };
  return {
    https: first("HTTPS_PROXY", "ALL_PROXY"),
    http: first("HTTP_PROXY", "ALL_PROXY"),
    no: first("NO_PROXY")?.value ?? "",
  };
}

/** As `fetch`, and PRL_CONFIG_ENVIRONMENT when a variable names no proxy. Hosts of this machine need no entry in NO_PROXY. */
export async function proxiedFetch(proxies: Proxies, url: string | URL, init: RequestInit = {}): Promise<Response> {
  if (proxyFor(proxies, url) === null) return fetch(url, init);
  const { hostname } = new URL(url);
  // undici compares names and knows no ranges, and this machine has all addresses of 127.0.0.0/8.
  const here = HERE.test(hostname) ? hostname : "";
  const key = JSON.stringify([proxies, here]);
  const agent = agents.get(key) ?? (await agentOf(proxies, here));
  agents.set(key, agent);
  // Node's fetch takes an agent of any version of undici; its types know one version.
  return fetch(url, { ...init, dispatcher: agent } as unknown as RequestInit);
}

/** New connections to the server of `url`; null: no proxy is for it, as for this machine. Errors: PRL_CONFIG_ENVIRONMENT when a variable names no proxy. */
export async function proxyAgent(proxies: Proxies, url: string): Promise<Dispatcher | null> {
  const isHere = HERE.test(new URL(url).hostname);
  return isHere || proxyFor(proxies, url) === null ? null : agentOf(proxies, "");
}

/** undici's agent would take the proxy of http for https, too. */
function proxyFor({ https, http }: Proxies, url: string | URL): Named | null {
  return new URL(url).protocol === "https:" ? https : http;
}

/** By their proxies and the name of this machine: connections are kept as long as the process lives. */
const agents = new Map<string, Dispatcher>();
const PROTOCOLS = ["http:", "https:", "socks5:", "socks:"];
const LOCAL = "localhost,127.0.0.1,[::1]";
const HERE = /^(?:(?:.+\.)?localhost|127(?:\.\d+){3}|\[::1\])$/u;

/** `here`: another name of this machine, or none. */
async function agentOf({ https, http, no }: Proxies, here: string): Promise<Dispatcher> {
  const { EnvHttpProxyAgent } = await import("undici");
  return new EnvHttpProxyAgent({
    // An empty text is no proxy; undefined would be that of the process.
    httpsProxy: addressOf(https),
    httpProxy: addressOf(http),
    noProxy: no === "*" ? no : `${no},${LOCAL},${here}`,
    // Proxies often allow tunnels to the port of https only.
    proxyTunnel: false,
  });
}

/** `host:port` is the address of an HTTP proxy. The value may have a password, so messages do not show it. */
function addressOf(named: Named | null): string {
  if (named === null) return "";
  const { variable, value } = named;
  const address = (value.includes("://") ? value : `http://${value}`).replace(/^socks5h:/iu, "socks5:");
  const { protocol } = URL.canParse(address) ? new URL(address) : { protocol: "" };
  if (PROTOCOLS.includes(protocol)) return address;
  const found = protocol === "" ? "something else" : `one of ${protocol.slice(0, -1)}`;
  throw new PrlError(
    "PRL_CONFIG_ENVIRONMENT",
    `environment variable ${variable}: expected the address of a proxy (http, https or socks5), such as http://proxy.example:3128, got ${found}`,
  );
}
