/** Checks host names and IP addresses. */
import { isIP } from "node:net";

const HOST_NAME = /^(?=.{1,253}$)[A-Za-z0-9_][A-Za-z0-9_-]{0,62}(\.[A-Za-z0-9_][A-Za-z0-9_-]{0,62})*\.?$/u;
const LIKE_AN_ADDRESS = /^[\d.]+$/u;

/** An IP address or a host name; four numbers with dots that are not an address are refused. */
export function isHost(text: string): boolean {
  return isIP(text) !== 0 || (HOST_NAME.test(text) && !LIKE_AN_ADDRESS.test(text));
}
