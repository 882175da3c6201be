import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isWebAddress } from './guard.ts';
import { checkAddress } from './navigation.ts';

const WEB = [
  'http://127.0.0.1:1/',
  'HTTPS://example.org',
  'about:blank',
  'about:blank#x',
  'data:text/html,x',
  'blob:https://a/1',
];
const OTHER = [
  'file:///etc/passwd',
  ' \tFile:/etc/passwd',
  'fi\nle:///etc/passwd',
  'view-source:file:///etc/passwd',
  'view-source:https://example.org',
  'chrome://settings',
  'about:settings',
  'about:',
  'devtools://devtools/bundled/inspector.html',
  'chrome-extension://a/b.html',
  'filesystem:https://a/temporary/b',
  'javascript:alert(1)',
  'ftp://example.org',
  '/etc/passwd',
  '',
];

test('the web and what pages make themselves are addresses for a task; files, the browser and scripts are not', () => {
  for (const url of WEB) assert.equal(isWebAddress(url), true, url);
  for (const url of OTHER) assert.equal(isWebAddress(url), false, url);
});

test('that private addresses are allowed opens the network, not the disk', async () => {
  const reach = { allowPrivate: true, lookUp: async () => [] };
  for (const url of WEB) await checkAddress(reach, url);
  for (const url of OTHER) await assert.rejects(checkAddress(reach, url), { code: 'invalid_input' }, url);
});
