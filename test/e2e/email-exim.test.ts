// Mail through Debian's exim4 with STARTTLS and login, read back from the mailbox file.

import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { setDefaultCACertificates } from 'node:tls';
import { attempt, openBench } from '../../src/delivery/target.contract.ts';
import { freePort } from '../support/free-port.ts';
import { makeCertificate } from '../support/localhost-certificate.ts';
import { until } from '../support/until.ts';

const EXIM = '/usr/sbin/exim4';
const USER = 'Debian-exim';
// exim gives up its rights for a settings file of anyone but root.
const possible = process.getuid?.() === 0 && spawnSync(EXIM, ['-bV']).status === 0;
const skip = possible || process.env.SVC_E2E === 'required' ? false : 'needs exim4 and root';

const settings = (folder: string, port: number): string => `
primary_hostname = localhost
local_interfaces = 127.0.0.1
daemon_smtp_ports = ${port}
spool_directory = ${folder}/spool
log_file_path = ${folder}/spool/%slog
pid_file_path = ${folder}/spool/exim.pid
tls_advertise_hosts = *
tls_certificate = ${folder}/cert.pem
tls_privatekey = ${folder}/key.pem
auth_advertise_hosts = \${if eq{$tls_in_cipher}{}{}{*}}
acl_smtp_rcpt = rcpt
begin acl
rcpt:
  accept authenticated = *
  deny message = log in first
begin routers
inbox:
  driver = accept
  transport = inbox
begin transports
inbox:
  driver = appendfile
  file = ${folder}/spool/inbox
  user = ${USER}
begin authenticators
plain:
  driver = plaintext
  public_name = PLAIN
  server_condition = \${if and{{eq{$auth2}{svc@example.test}}{eq{$auth3}{exim-password-1}}}}
  server_set_id = $auth2
`;

test('a mail passes exim4 with STARTTLS and login and lies in the mailbox', { skip, timeout: 60_000 }, async () => {
  const folder = await mkdtemp(join(tmpdir(), 'svc-exim-'));
  await chmod(folder, 0o755);
  await mkdir(join(folder, 'spool'));
  const port = await freePort();
  const { key, cert } = makeCertificate();
  setDefaultCACertificates([cert]);
  await Promise.all([
    writeFile(join(folder, 'exim.conf'), settings(folder, port)),
    writeFile(join(folder, 'cert.pem'), cert),
    writeFile(join(folder, 'key.pem'), key),
  ]);
  spawnSync('chown', ['-R', USER, join(folder, 'spool'), join(folder, 'key.pem')]);
  const exim = spawn(EXIM, ['-C', join(folder, 'exim.conf'), '-bdf', '-q1s'], { stdio: 'ignore' });
  try {
    await until(() => listens(port));
    const open = (token: string) => {
      const extra = { host: 'localhost', port, from: 'svc@example.test' };
      return openBench({ email: { enabled: true, token, extra } });
    };
    const message = { address: { target: 'email', chatId: 'ops@example.test' }, text: '# Report\n\n**all** good' };
    await using wrong = await open('wrong');
    assert.equal((await attempt(wrong.delivery, message)).kind, 'refused');
    await using room = await open('exim-password-1');
    assert.equal((await attempt(room.delivery, message)).kind, 'delivered');
    const inbox = join(folder, 'spool', 'inbox');
    await until(async () => (await readFile(inbox, 'utf8').catch(() => '')).includes('all'));
    const mail = await readFile(inbox, 'utf8');
    assert.match(mail, /^Subject: Report$/m);
    assert.match(mail, /with esmtpsa/i);
    assert.match(mail, /<strong>all<\/strong> good/);
  } finally {
    exim.kill();
    await rm(folder, { recursive: true, force: true });
  }
});

function listens(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    const end = (up: boolean) => {
      socket.destroy();
      resolve(up);
    };
    socket.on('connect', () => end(true));
    socket.on('error', () => end(false));
  });
}
