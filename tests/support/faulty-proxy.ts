/** A TCP proxy that changes the bytes of each connection as the test wants. */

import { createServer, connect, type AddressInfo, type Socket } from "node:net";

/** What happens to one connection; positions count the bytes of one direction. */
export type Fault =
  | { kind: "none" }
  /** It breaks after so many bytes from the one who connects, or to it. */
  | { kind: "cut"; direction: "up" | "down"; at: number }
  /** The byte there is another one. */
  | { kind: "corrupt"; direction: "up" | "down"; at: number }
  /** Every piece is held back. */
  | { kind: "delay"; ms: number }
  /** The piece that holds this byte comes twice. */
  | { kind: "repeat"; direction: "up" | "down"; at: number };

export interface FaultyProxy {
  /** `host:port`. */
  readonly address: string;
  /** Connections that suffered something. */
  readonly hurt: number;
  close(): Promise<void>;
}

/** Forwards to `target()`; the n-th connection (from 0) suffers `faultOf(n)`. */
export async function startFaultyProxy(target: () => number, faultOf: (n: number) => Fault): Promise<FaultyProxy> {
  const sockets = new Set<Socket>();
  let connections = 0;
  let hurt = 0;
  const server = createServer((client) => {
    const fault = faultOf(connections++);
    const upstream = connect(target(), "127.0.0.1");
    const both = [client, upstream];
    const end = () => both.forEach((socket) => socket.destroy());
    for (const socket of both) {
      sockets.add(socket);
      // A broken connection is what this is for.
      socket.on("error", end);
      socket.on("close", () => {
        sockets.delete(socket);
        end();
      });
    }
    if (fault.kind !== "none") hurt++;
    pump(client, upstream, "up", fault, end);
    pump(upstream, client, "down", fault, end);
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    get hurt() {
      return hurt;
    },
    async close() {
      sockets.forEach((socket) => socket.destroy());
      await new Promise((closed) => server.close(closed));
    },
  };
}

function pump(from: Socket, to: Socket, direction: "up" | "down", fault: Fault, end: () => void): void {
  let position = 0;
  from.on("data", (piece: Buffer) => {
    const at = "at" in fault && fault.direction === direction ? fault.at - position : -1;
    const holds = at >= 0 && at < piece.length;
    position += piece.length;
    if (fault.kind === "cut" && holds) {
      to.write(piece.subarray(0, at), end);
      from.pause();
      return;
    }
    if (fault.kind === "corrupt" && holds) piece[at] = (piece[at] ?? 0) ^ 0x5a;
    const pieces = fault.kind === "repeat" && holds ? [piece, piece] : [piece];
    const write = () => pieces.forEach((bytes) => to.write(bytes));
    if (fault.kind === "delay") setTimeout(write, fault.ms);
    else write();
  });
}
