import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isLocalClient } from './local-client.ts';

const local = { host: 'localhost:8644' };

test('programs on this machine are local, whatever family or spelling', () => {
  for (const address of ['127.0.0.1', '127.8.9.1', '::1', '::ffff:127.0.0.1'])
    assert.ok(isLocalClient(address, local), address);
  for (const host of ['127.0.0.1:8644', '[::1]:8644', 'localhost', 'x.localhost'])
    assert.ok(isLocalClient('::1', { host }), host);
});

test('everyone else is not', () => {
  for (const address of ['192.168.1.5', '10.0.0.1', '::ffff:10.0.0.1', 'fe80::1', '128.0.0.1', undefined])
    assert.ok(!isLocalClient(address, local), address);
});

test('a web page or a proxy on this machine does not count as local', () => {
  for (const headers of [
    { host: 'evil.example' },
    { host: 'localhost.evil.example' },
    { ...local, origin: 'https://evil.example' },
    { ...local, origin: 'null' },
    { ...local, 'sec-fetch-site': 'cross-site' },
    { ...local, 'sec-fetch-site': 'same-site' },
    { ...local, 'x-forwarded-for': '1.2.3.4' },
    { ...local, forwarded: 'for=1.2.3.4' },
  ])
    assert.ok(!isLocalClient('127.0.0.1', headers), JSON.stringify(headers));
  assert.ok(isLocalClient('127.0.0.1', { ...local, origin: 'http://localhost:3000', 'sec-fetch-site': 'none' }));
});
