/** Certificates for tests, made by openssl. */
import { execFileSync } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";

export function hasOpenssl(): boolean {
  try {
    execFileSync("openssl", ["version"]);
    return true;
  } catch {
    return false;
  }
}

/** An authority and a certificate for 127.0.0.1 that it signed. */
export async function certificates(dir: string): Promise<{ ca: string; cert: string; key: string }> {
  const [ca, caKey, cert, key, request, extensions] = ["ca", "ca-key", "cert", "key", "request", "ext"].map((name) =>
    join(dir, `${name}.pem`),
  ) as [string, string, string, string, string, string];
  const openssl = (...args: string[]) => execFileSync("openssl", args, { stdio: "pipe" });
  const newKey = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
  openssl("req", "-x509", ...newKey, "-keyout", caKey, "-out", ca, "-subj", "/CN=authority", "-days", "2");
  openssl("req", ...newKey, "-keyout", key, "-out", request, "-subj", "/CN=node");
  await writeFile(extensions, "subjectAltName=IP:127.0.0.1\nbasicConstraints=CA:FALSE\n");
  const signer = ["-CA", ca, "-CAkey", caKey, "-CAcreateserial", "-extfile", extensions];
  openssl("x509", "-req", "-in", request, ...signer, "-out", cert, "-days", "2");
  return { ca, cert, key };
}
