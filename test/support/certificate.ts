// A certificate for https sites of tests, made by the openssl of the machine and thrown away again.

import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

/** Undefined when there is no openssl. */
export async function makeCertificate(): Promise<{ key: string; cert: string } | undefined> {
  const folder = await mkdtemp(join(tmpdir(), 'svc-cert-'));
  const key = join(folder, 'key.pem');
  const cert = join(folder, 'cert.pem');
  const words = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'];
  try {
    await promisify(execFile)('openssl', [...words, '-subj', '/CN=test', '-keyout', key, '-out', cert]);
    return { key: await readFile(key, 'utf8'), cert: await readFile(cert, 'utf8') };
  } catch {
    return undefined;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
