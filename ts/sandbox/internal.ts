/** What other parts of prl use of `ts/sandbox` and users do not: nothing of it is public. */
export { daemonArguments } from "./daemon-arguments.ts";
