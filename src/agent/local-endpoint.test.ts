import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isLocalEndpoint, type Lookup } from './local-endpoint.ts';

const NAMES: Readonly<Record<string, readonly string[]>> = {
  'gpu.example.com': ['192.168.1.20'],
  'both.example.com': ['10.0.0.1', 'fd00::5'],
  'mixed.example.com': ['10.0.0.1', '203.0.114.9'],
  'far.example.com': ['93.184.216.34'],
  'empty.example.com': [],
};

const lookup: Lookup = async (name) => NAMES[name] ?? Promise.reject(new Error('ENOTFOUND'));

const LOCAL = [
  ['http://127.0.0.1:8080', 'loopback'],
  ['http://127.8.9.10', 'all of 127/8'],
  ['http://[::1]:11434', 'loopback, IPv6'],
  ['http://[::ffff:127.0.0.1]', 'IPv4 inside IPv6'],
  ['http://0.0.0.0:8000', 'this machine'],
  ['http://[::]:8000', 'this machine, IPv6'],
  ['http://10.1.2.3', 'private'],
  ['http://172.16.0.1', 'private, lower end'],
  ['http://172.31.255.255', 'private, upper end'],
  ['http://192.168.178.20:1234/v1', 'private'],
  ['http://169.254.10.1', 'link-local'],
  ['http://[fe80::1]', 'link-local, IPv6'],
  ['http://[fc00::1]', 'unique local'],
  ['http://[fd12:3456::1]:8000', 'unique local'],
  ['http://100.64.0.1', 'carrier-grade, lower end'],
  ['http://100.127.255.254', 'carrier-grade, upper end'],
  ['http://localhost:8080', 'localhost'],
  ['http://LOCALHOST.:8080', 'localhost with a dot and capitals'],
  ['http://api.localhost', 'below localhost'],
  ['http://ollama:11434', 'a name without a dot'],
  ['http://studio.local', '.local'],
  ['http://box.lan', '.lan'],
  ['http://host.docker.internal:1234', '.internal'],
  ['http://nas.home.arpa', '.home.arpa'],
  ['http://gpu.example.com', 'resolves to a local address'],
  ['http://both.example.com', 'resolves to local addresses of both families'],
] as const;

const REMOTE = [
  ['https://8.8.8.8', 'public'],
  ['https://172.15.255.255', 'just below the private range'],
  ['https://172.32.0.0', 'just above the private range'],
  ['https://100.63.255.255', 'just below the carrier-grade range'],
  ['https://100.128.0.0', 'just above the carrier-grade range'],
  ['https://[2606:4700::1111]', 'public, IPv6'],
  ['https://[fec0::1]', 'outside link-local and unique local'],
  ['https://[::ffff:8.8.8.8]', 'public IPv4 inside IPv6'],
  ['https://api.example.com', 'does not resolve'],
  ['https://far.example.com', 'resolves to a public address'],
  ['https://mixed.example.com', 'one public address among local ones'],
  ['https://empty.example.com', 'resolves to nothing'],
  ['https://local.example.com', 'a word is not an ending'],
  ['not a url', 'no address at all'],
] as const;

for (const [url, why] of LOCAL) {
  test(`${url} is local: ${why}`, async () => assert.equal(await isLocalEndpoint(url, lookup), true));
}
for (const [url, why] of REMOTE) {
  test(`${url} is not local: ${why}`, async () => assert.equal(await isLocalEndpoint(url, lookup), false));
}
