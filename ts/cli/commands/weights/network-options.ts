/** Options of `prl weights serve | relay | pull`. */
import type { CommandOption } from "../../command.ts";

export const LISTEN: CommandOption = {
  flag: "--listen",
  value: "<host:port>",
  summary: "Where to listen (default 127.0.0.1:0, any port); beyond this machine it needs PRL_TRANSPORT_TOKEN",
};
export const FROM: CommandOption = {
  flag: "--from",
  value: "<host:port,...>",
  summary: "Nodes to pull from: the nearest relay first, the publisher last",
  required: true,
};
export const TIMEOUT: CommandOption = {
  flag: "--timeout-s",
  value: "<n>",
  summary: "Seconds without any progress after which it gives up (600)",
};
