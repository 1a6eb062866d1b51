/** Options of `prl weights serve | relay | pull`. */
import type { CommandOption } from "../../command.ts";
import { RULES } from "../../arguments/option-rule.ts";

export const LISTEN: CommandOption = {
  flag: "--listen",
  value: "<host:port>",
  rule: { is: "host:port" },
  summary:
    "Address to listen on (default 127.0.0.1:0, any port); beyond this machine it needs PRL_TRANSPORT_TOKEN or --tls-client-ca",
};
export const FROM: CommandOption = {
  flag: "--from",
  value: "<host:port,...>",
  summary: "Nodes to pull from, the nearest relay first, the publisher last",
  required: true,
};
export const TIMEOUT: CommandOption = {
  flag: "--timeout-s",
  value: "<n>",
  rule: RULES.seconds,
  summary: "Give up after this many seconds without progress (600)",
};
/** Certificate and key that a listener and a caller present. */
const IDENTITY: readonly CommandOption[] = [
  {
    flag: "--tls-cert",
    value: "<file>",
    summary: "Certificate of this node (PEM); as a listener it encrypts with it",
  },
  { flag: "--tls-key", value: "<file>", summary: "Key of the certificate (PEM)" },
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
    summary: "Authority (PEM) that signed the certificates of the nodes to pull from; then connections are encrypted",
  },
  {
    flag: "--tls-server-name",
    value: "<name>",
    summary: "Name in the certificates of these nodes (default: the host of the address)",
  },
];
export const RELAY_TLS: readonly CommandOption[] = [
  ...SERVER_TLS,
  ...CLIENT_TLS.filter((option) => !IDENTITY.includes(option)),
];
