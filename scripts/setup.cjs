// Installs what is missing before `npm start` and `npm test`. Runs under whatever Node the machine has, with nothing
// installed: CommonJS, old syntax, no dependencies. Does nothing when all is there.
'use strict';

var childProcess = require('node:child_process');
var crypto = require('node:crypto');
var fs = require('node:fs');
var path = require('node:path');

var root = path.dirname(__dirname);
var modules = path.join(root, 'node_modules');
var stamp = path.join(modules, '.svc-setup');
var strict = /^(1|true)$/i.test(process.env.CI || '');

installPackages();
if (process.argv.indexOf('--tests') !== -1) installPrograms();

function installPackages() {
  var wanted = `${hashOf(path.join(root, 'package-lock.json'))}\n`;
  if (read(stamp) === wanted) return;
  say('installing packages (npm ci)');
  var npm = process.env.npm_execpath;
  var flags = ['ci', '--loglevel=error', '--no-audit', '--no-fund'];
  var result = npm && /\.[cm]?js$/.test(npm) ? run(process.execPath, [npm].concat(flags)) : run('npm', flags);
  if (result !== 0) fail(`The packages could not be installed. Run \`npm ci\` in ${root} to see why.`);
  fs.writeFileSync(stamp, wanted);
}

/** The programs that the end-to-end tests use. The service itself needs none of them to start. */
function installPrograms() {
  var missing = [
    { apt: 'chromium', there: onPath(['chromium', 'chromium-browser', 'google-chrome']) },
    { apt: 'postgresql', there: onPath(['initdb']) || debianPostgres() },
    { apt: 'bubblewrap', there: onPath(['bwrap']) },
    { apt: 'openssl', there: onPath(['openssl']) },
    { apt: 'gh', there: onPath(['gh']) },
    // A mail server is no guest for somebody's own machine: only throw-away ones get it.
    { apt: 'exim4-daemon-light', there: !strict || fs.existsSync('/usr/sbin/exim4') },
  ].filter((program) => !program.there);
  if (missing.length === 0) return;
  var names = missing.map((program) => program.apt);
  var command = `apt-get install -y --no-install-recommends ${names.join(' ')}`;
  var mayInstall = process.getuid && process.getuid() === 0 && onPath(['apt-get']);
  if (mayInstall && installWithApt(names)) return;
  var text = `The tests also use ${names.join(', ')}. Install with: ${mayInstall ? '' : 'sudo '}${command}`;
  if (strict) fail(text);
  say(`${text}\n  Tests that need them are skipped aloud.`);
}

function installWithApt(names) {
  say(`installing ${names.join(', ')} (apt-get)`);
  var env = Object.assign({}, process.env, { DEBIAN_FRONTEND: 'noninteractive' });
  var install = ['install', '-y', '--no-install-recommends', '-qq'].concat(names);
  if (run('apt-get', install, env) === 0) return true;
  return run('apt-get', ['update', '-qq'], env) === 0 && run('apt-get', install, env) === 0;
}

function debianPostgres() {
  var base = '/usr/lib/postgresql';
  return (
    fs.existsSync(base) &&
    fs.readdirSync(base).some((version) => fs.existsSync(path.join(base, version, 'bin', 'initdb')))
  );
}

function onPath(names) {
  return (process.env.PATH || '')
    .split(path.delimiter)
    .some((folder) => names.some((name) => folder !== '' && fs.existsSync(path.join(folder, name))));
}

function run(command, args, env) {
  var result = childProcess.spawnSync(command, args, { cwd: root, stdio: 'inherit', env: env || process.env });
  return result.error ? 1 : result.status;
}

function hashOf(file) {
  return crypto.createHash('sha256').update(fs.readFileSync(file)).digest('hex');
}

function read(file) {
  return fs.existsSync(file) ? fs.readFileSync(file, 'utf8') : undefined;
}

function say(text) {
  console.error(`setup: ${text}`);
}

function fail(text) {
  say(text);
  process.exit(1);
}
