/** Options of `prl weights serve | relay | pull`. */
import type { CommandOption } from "../../command.ts";
import { RULES } from "../../arguments/option-rule.ts";

export const LISTEN: CommandOption = {
  flag: "--listen",
  value: "<host:port>",
  rule: { is: "host:port" },
  summary:
    "Where to listen (default 127.0.0.1:0, any port); beyond this machine it needs PRL_TRANSPORT_TOKEN or --tls-client-ca",
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
  rule: RULES.seconds,
  summary: "Seconds without any progress after which it gives up (600)",
};
/** Certificate and key that a listener and a caller present. */
const IDENTITY: readonly CommandOption[] = [
  {
    flag: "--tls-cert",
    value: "<file>",
    summary: "Certificate (PEM): a listener encrypts with it, other nodes are shown it",
  },
  { flag: "--tls-key", value: "<file>", summary: "Its key (PEM)" },
];
export const SERVER_TLS: readonly CommandOption[] = [
  ...IDENTITY,
  { flag: "--tls-client-ca", value: "<file>", summary: "Refuse callers without a certificate of this authority (PEM)" },
];
export const CLIENT_TLS: readonly CommandOption[] = [
  ...IDENTITY,
  {
    flag: "--tls-ca",
    value: "<file>",
    summary: "Authority (PEM) of the nodes to pull from; connections are encrypted then",
  },
  {
    flag: "--tls-server-name",
    value: "<name>",
    summary: "Name in their certificates (default: the host of the address)",
  },
];
export const RELAY_TLS: readonly CommandOption[] = [
  ...SERVER_TLS,
  ...CLIENT_TLS.filter((option) => !IDENTITY.includes(option)),
];
