import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { after, before, test } from 'node:test';
import { installPacked } from '../support/packed.ts';
import { createSvcHome, type SvcHome } from '../support/svc.ts';
import { tempFolder } from '../support/temp-folder.ts';

const root = resolve(import.meta.dirname, '../..');
// A space in the path, as on many people's machines.
const place = join(tempFolder(), 'an empty folder');
let home: SvcHome;
let packageFolder = '';

before(() => {
  const launcher = installPacked(place);
  packageFolder = join(place, 'node_modules', 'svc');
  home = createSvcHome([process.execPath, launcher]);
});
after(() => home.remove());

test('the package holds no TypeScript, no tests and no dependencies', () => {
  const files = readdirSync(packageFolder, { recursive: true }).map(String);
  assert.deepEqual(
    files.filter((file) => /\.ts$|\.test\.|^test|node_modules/.test(file)),
    [],
  );
  assert.deepEqual(
    readdirSync(join(place, 'node_modules')).filter((name) => !name.startsWith('.')),
    ['svc'],
  );
  const manifest = JSON.parse(readFileSync(join(packageFolder, 'package.json'), 'utf8')) as Record<string, unknown>;
  assert.equal(manifest.dependencies, undefined);
  for (const file of [
    'LICENSE',
    'README.md',
    'config.schema.json',
    'dist/THIRD-PARTY-LICENSES.txt',
    'dist/migrations',
  ]) {
    assert.ok(existsSync(join(packageFolder, file)), file);
  }
});

test('svc --help and --version work from the package', async () => {
  const help = await home.svc(['--help']);
  assert.equal(help.code, 0, help.stderr);
  assert.match(help.stdout, /gateway/);
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };
  assert.equal((await home.svc(['--version'])).stdout, `${version}\n`);
});

test('every command of the package can be loaded', async () => {
  const help = await home.svc(['--help']);
  const names = [...help.stdout.matchAll(/^ {2}([a-z]+) .*$/gm)]
    .map((match) => match[1] ?? '')
    .filter((name) => name !== 'help');
  assert.ok(names.length > 3, help.stdout);
  for (const name of names) {
    const result = await home.svc([name, '--help']);
    assert.equal(result.code, 0, `${name}: ${result.stderr}`);
  }
});

test('the skills that come with the program are found in the package', async () => {
  const result = await home.svc(['skills', 'list', '--json']);
  assert.equal(result.code, 0, result.stderr);
  assert.match(result.stdout, /webhook-subscriptions/);
});

test('svc gateway run answers /health and keeps its database, both in the foreground and in the background', async () => {
  const gateway = await home.startGateway();
  assert.equal((await fetch(`${gateway.url}/health`)).status, 200);
  assert.equal(await gateway.end(), 0);
  assert.ok(existsSync(join(home.path, 'svc.db')));
  const started = await home.svc(['gateway']);
  assert.equal(started.code, 0, started.stderr);
  const runs = await home.svc(['runs', 'list', '--json']);
  assert.equal(runs.code, 0, runs.stderr);
  assert.equal((await home.svc(['gateway', 'stop'])).code, 0);
});
