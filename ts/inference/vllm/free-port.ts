/** A port for a program that takes its port as an argument. */
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";

/** A port that nothing listens on now; another program may take it before the caller's does, which then says so. */
export async function freePort(host: string): Promise<number> {
  const server = createServer();
  server.listen({ host, port: 0 });
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  await new Promise<void>((resolve) => server.close(() => resolve()));
  return port;
}
