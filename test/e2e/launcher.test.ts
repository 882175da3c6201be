import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, symlinkSync } from 'node:fs';
import { delimiter, join, resolve } from 'node:path';
import { after, test } from 'node:test';
import { createSvcHome } from '../support/svc.ts';
import { tempFolder } from '../support/temp-folder.ts';

const root = resolve(import.meta.dirname, '../..');
const launcher = join(root, 'bin/svc');
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };

/** The Node of the machine, when it is older than the pinned one. */
function olderNode(): string | undefined {
  const folders = (process.env.PATH ?? '').split(delimiter).filter((folder) => !folder.includes('node_modules'));
  const found = folders.map((folder) => join(folder, 'node')).find((file) => existsSync(file));
  if (found === undefined) return undefined;
  const [major = 0, minor = 0] = spawnSync(found, ['-p', 'process.versions.node'], { encoding: 'utf8' })
    .stdout.split('.')
    .map(Number);
  return major < 24 || (major === 24 && minor < 15) ? found : undefined;
}

test('the version that the program prints is the one of the package', () => {
  const { stdout } = spawnSync(process.execPath, [launcher, '--version'], { encoding: 'utf8' });
  assert.equal(stdout, `${version}\n`);
});

test('the launcher works from any folder and through a link', () => {
  const folder = tempFolder();
  symlinkSync(launcher, join(folder, 'svc'));
  const result = spawnSync(process.execPath, [join(folder, 'svc'), '--version'], { cwd: folder, encoding: 'utf8' });
  assert.deepEqual([result.status, result.stdout], [0, `${version}\n`]);
});

const old = olderNode();
const home = createSvcHome(old === undefined ? undefined : [old, launcher]);
after(() => home.remove());

test('under an older Node the pinned one takes over and passes exit codes on', async (t) => {
  if (old === undefined) t.diagnostic('This machine has no older Node: the pinned one runs the launcher directly.');
  assert.equal((await home.svc(['--version'])).stdout, `${version}\n`);
  assert.equal((await home.svc(['no-such-command'])).code, 2);
});

test('a signal to the launcher stops the gateway in order', async () => {
  const gateway = await home.startGateway();
  assert.equal((await fetch(`${gateway.url}/health`)).status, 200);
  assert.equal(await gateway.end('SIGTERM'), 0);
  assert.match(gateway.output(), /The gateway has stopped/);
});
