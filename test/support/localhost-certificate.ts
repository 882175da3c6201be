// A fresh self-signed certificate for `localhost`, made by openssl: nothing secret lies in the repository, nothing expires.

import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface Certificate {
  key: string;
  cert: string;
}

/** The reason to skip a test that needs one, or false. With SVC_E2E=required nothing is skipped: it fails. */
export const noCertificates: string | false =
  spawnSync('openssl', ['version']).status === 0 || process.env.SVC_E2E === 'required'
    ? false
    : 'the program openssl is not installed';

export function makeCertificate(): Certificate {
  const folder = mkdtempSync(join(tmpdir(), 'svc-certificate-'));
  const key = join(folder, 'key.pem');
  const cert = join(folder, 'cert.pem');
  const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1'];
  const files = ['-keyout', key, '-out', cert];
  execFileSync('openssl', ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', ...subject, ...files], {
    stdio: 'ignore',
  });
  const made = { key: readFileSync(key, 'utf8'), cert: readFileSync(cert, 'utf8') };
  rmSync(folder, { recursive: true });
  return made;
}
