/**
 * A hub of environments: an npm registry in this process. The optional package verdaccio is the registry; this file configures it.
 *
 * Packages lie in one folder. No other registry is asked unless an uplink is given. Passwords are kept as bcrypt hashes in `htpasswd`.
 * Searches are answered from an index of ours, except with an uplink, which verdaccio asks too.
 */
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";

import { PrlError } from "../../../errors.ts";
import { makeFolder } from "../../../files/make-folder.ts";
import { HubIndex } from "./package-index.ts";
import { addRoutes } from "./routes.ts";

const PACKAGE = "verdaccio";
const INSTALL = "npm install verdaccio@6";
const MOST_USERS = 1000;
const MOST_BODY = "100mb";
const MOST_CONNECTIONS = 1_024;
/** For connections that are open when the hub is closed. */
const CLOSE_MS = 5000;

/** Accounts that may publish, by scope, such as `@ada`; `*` is every other package. What has no entry is open to all accounts. */
export type Publishers = ReadonlyMap<string, readonly string[]>;
const OTHERS = "*";
const NO_RULES: Publishers = new Map();

export interface HubOptions {
  /** Folder of packages, users and the log; made when it is missing. */
  readonly storage: string;
  readonly host: string;
  /** 0: any free one. */
  readonly port: number;
  /** Registry that is asked for what this hub does not have; null: none. */
  readonly uplink: string | null;
  /** Reading needs a token too, not only publishing. */
  readonly isPrivate: boolean;
  /** Everybody who reaches the hub may make an account. */
  readonly isOpen: boolean;
  /** Default: every account may publish every package. */
  readonly publishers?: Publishers;
}

export interface Hub {
  /** Its address, with a slash at the end. */
  readonly url: string;
  close(): Promise<void>;
}

/** The part of verdaccio that is used. */
interface Verdaccio {
  runServer(config: object): Promise<Server>;
}

/**
 * Starts a hub; it answers when this resolves.
 *
 * @throws PrlError `PRL_ENVIRONMENT_HUB` where verdaccio is not installed, with the command that installs it, and when the hub cannot
 * listen; `PRL_IO`
 */
export async function startHub(options: HubOptions, name: string = PACKAGE): Promise<Hub> {
  const verdaccio = await loadVerdaccio(name);
  makeFolder(options.storage);
  const server = await verdaccio.runServer(configOf(options));
  const url = (): string => urlOf(server.address() as AddressInfo);
  const index = await readHub(options.storage);
  addRoutes(server, { index, isPrivate: options.isPrivate, searches: options.uplink === null, url });
  server.maxConnections = MOST_CONNECTIONS;
  await new Promise<void>((done, fail) => {
    server.once("error", (cause) => {
      const place = `${options.host}:${options.port}`;
      fail(new PrlError("PRL_ENVIRONMENT_HUB", `the hub cannot listen on ${place}`, { cause }));
    });
    server.listen(options.port, options.host, done);
  });
  return { url: url(), close: () => closed(server) };
}

/**
 * The index of the packages in a hub's folder.
 *
 * @throws PrlError `PRL_IO`
 */
export function readHub(storage: string): Promise<HubIndex> {
  return HubIndex.read(packagesOf(storage));
}

function urlOf({ address, port, family }: AddressInfo): string {
  return `http://${family === "IPv6" ? `[${address}]` : address}:${port}/`;
}

function packagesOf(storage: string): string {
  return join(storage, "packages");
}

async function loadVerdaccio(name: string): Promise<Verdaccio> {
  try {
    const module = (await import(/* @vite-ignore */ name)) as Partial<Verdaccio> & { default?: Verdaccio };
    const found = module.runServer === undefined ? module.default : (module as Verdaccio);
    if (found !== undefined) return found;
  } catch (cause) {
    const code = cause instanceof Error && "code" in cause ? cause.code : undefined;
    const isMissing = code === "ERR_MODULE_NOT_FOUND" || code === "MODULE_NOT_FOUND";
    if (!isMissing) throw cause;
  }
  throw new PrlError("PRL_ENVIRONMENT_HUB", `a hub needs the package ${name}, which is not installed here: ${INSTALL}`);
}

function configOf({ storage, uplink, isPrivate, isOpen, publishers = NO_RULES }: HubOptions): object {
  const access = isPrivate ? "$authenticated" : "$all";
  const proxy = uplink === null ? {} : { proxy: "uplink" };
  const rights = (accounts: readonly string[] = ["$authenticated"]): object => {
    const names = accounts.join(" ");
    return { access, publish: names, unpublish: names, ...proxy };
  };
  const scopes = [...publishers].filter(([scope]) => scope !== OTHERS);
  return {
    configPath: join(storage, "config.yaml"),
    self_path: storage,
    storage: packagesOf(storage),
    auth: {
      htpasswd: { file: join(storage, "htpasswd"), max_users: isOpen ? MOST_USERS : -1, algorithm: "bcrypt" },
    },
    uplinks: uplink === null ? {} : { uplink: { url: uplink } },
    // The first pattern that fits a package holds.
    packages: {
      ...Object.fromEntries(scopes.map(([scope, accounts]) => [`${scope}/*`, rights(accounts)])),
      "**": rights(publishers.get(OTHERS)),
    },
    max_body_size: MOST_BODY,
    web: { enable: false },
    log: { type: "file", path: join(storage, "hub.log"), level: "warn", format: "json" },
  };
}

function closed(server: Server): Promise<void> {
  return new Promise((done) => {
    const timer = setTimeout(() => server.closeAllConnections(), CLOSE_MS);
    server.close(() => {
      clearTimeout(timer);
      done();
    });
    server.closeIdleConnections();
  });
}
