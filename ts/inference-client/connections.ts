/**
 * Connections to one server, one request at a time on each. undici's `Pool` looks through all of them for a free one at every request; here
 * the one that became free last is taken, so that a thousand cost no more than one and unused ones become idle.
 *
 * A connection is opened when none is free, `connections` at most; further requests wait, first come first served. One that breaks fails its
 * request and is opened anew for another one. `destroy` ends all of them. This file does not know what is sent.
 */
import { buildConnector, Client, Dispatcher } from "undici";

export interface ConnectionsOptions extends Pick<
  Client.Options,
  "keepAliveTimeout" | "bodyTimeout" | "headersTimeout"
> {
  /** Most connections at once. */
  connections: number;
  /** Sent with each request, whose headers are an object. */
  headers?: Readonly<Record<string, string>>;
  /** Certificates (PEM) of the authorities that the server's must be of; absent: those of the machine. */
  ca?: string;
}

interface Connection {
  readonly client: Client;
  isFree: boolean;
}

type Request = [options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler];

export class Connections extends Dispatcher {
  readonly #origin: string;
  readonly #options: Client.Options;
  readonly #headers: Readonly<Record<string, string>> | null;
  readonly #most: number;
  readonly #all: Connection[] = [];
  readonly #free: Connection[] = [];
  readonly #waiting: Request[] = [];
  /** A client on which every request fails, after `destroy`. */
  #ended: Client | null = null;

  /** `origin`: scheme, host and port. */
  constructor(origin: string, { connections, headers, ca, ...options }: ConnectionsOptions) {
    super();
    this.#origin = origin;
    this.#options = { ...options, connect: buildConnector(ca === undefined ? {} : { ca }) };
    this.#headers = headers ?? null;
    this.#most = connections;
  }

  /** Number of connections, open or to be opened anew. */
  get size(): number {
    return this.#all.length;
  }

  /** False when the next request would wait. */
  override dispatch(...asked: Request): boolean {
    const request = this.#headers === null ? asked : withHeaders(asked, this.#headers);
    if (this.#ended !== null) return this.#ended.dispatch(...request);
    const connection = this.#free.pop() ?? this.#another();
    if (connection === undefined) this.#waiting.push(request);
    else {
      connection.isFree = false;
      if (connection.client.dispatch(...request)) this.#drained(connection);
    }
    return this.#free.length > 0 || this.#all.length < this.#most;
  }

  /** Requests under way and waiting ones fail with undici's UND_ERR_DESTROYED. */
  override async destroy(): Promise<void> {
    this.#ended ??= new Client(this.#origin);
    const ended = [this.#ended, ...this.#all.map(({ client }) => client)].map((client) => client.destroy());
    for (const request of this.#waiting.splice(0)) this.#ended.dispatch(...request);
    await Promise.all(ended);
  }

  #another(): Connection | undefined {
    if (this.#all.length >= this.#most) return undefined;
    const connection = { client: new Client(this.#origin, this.#options), isFree: false };
    connection.client.on("drain", () => this.#drained(connection));
    this.#all.push(connection);
    return connection;
  }

  /** The connection can take a request: it takes a waiting one, or becomes free. */
  #drained(connection: Connection): void {
    // undici reports a request that fails at once twice.
    if (connection.isFree || this.#ended !== null) return;
    for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift()) {
      if (!connection.client.dispatch(...next)) return;
    }
    connection.isFree = true;
    this.#free.push(connection);
  }
}

function withHeaders([options, handler]: Request, headers: Readonly<Record<string, string>>): Request {
  return [{ ...options, headers: { ...(options.headers as Record<string, string> | undefined), ...headers } }, handler];
}
