/** Whether an address to listen on is one that other machines can reach. */
import { lookup } from "node:dns/promises";
import { BlockList, isIP } from "node:net";

const LOOPBACK = new BlockList();
LOOPBACK.addSubnet("127.0.0.0", 8, "ipv4");
LOOPBACK.addAddress("::1", "ipv6");

/** Whether other machines can reach one of the addresses of `host`, a name or an address. Rejects when it has none. */
export async function isWide(host: string): Promise<boolean> {
  const bare = host.replace(/^\[(.*)\]$/u, "$1");
  const addresses = isIP(bare) === 0 ? await lookup(bare, { all: true }) : [{ address: bare, family: isIP(bare) }];
  return !addresses.every(({ address, family }) => LOOPBACK.check(address, family === 6 ? "ipv6" : "ipv4"));
}
