import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isLocalAddress, isPublicAddress } from './ip-address.ts';

const LOCAL = [
  '127.0.0.1',
  '127.255.255.254',
  '10.0.0.1',
  '172.16.0.1',
  '172.31.255.255',
  '192.168.1.1',
  '169.254.169.254',
  '100.64.0.1',
  '100.127.255.255',
  '::1',
  '[::1]',
  '0:0:0:0:0:0:0:1',
  'fc00::1',
  'fdab::1',
  'fe80::1%eth0',
  '::ffff:127.0.0.1',
  '::ffff:7f00:1',
  '64:ff9b::10.0.0.1',
  '2002:7f00:1::',
];
const NEITHER = [
  '0.0.0.0',
  '224.0.0.1',
  '255.255.255.255',
  '192.0.2.1',
  '198.18.0.1',
  '::',
  'ff02::1',
  '2001:db8::1',
  '2001:0:1::',
  '::127.0.0.1',
];
const PUBLIC = [
  '1.1.1.1',
  '8.8.8.8',
  '172.15.0.1',
  '172.32.0.1',
  '100.63.0.1',
  '100.128.0.1',
  '2606:4700::1111',
  '::ffff:8.8.8.8',
  '2002:808:808::',
];
const NO_ADDRESS = ['', 'localhost', '1.2.3', '1.2.3.4.5', '256.1.1.1', ':::', '1::2::3', 'g::', '1:2:3:4:5:6:7:8:9'];

test('local addresses of both families are local and not public', () => {
  for (const address of LOCAL) {
    assert.equal(isLocalAddress(address), true, address);
    assert.equal(isPublicAddress(address), false, address);
  }
});

test('reserved, documentation and multicast addresses are neither local nor public', () => {
  for (const address of NEITHER) {
    assert.equal(isLocalAddress(address), false, address);
    assert.equal(isPublicAddress(address), false, address);
  }
});

test('ordinary addresses are public', () => {
  for (const address of PUBLIC) {
    assert.equal(isPublicAddress(address), true, address);
    assert.equal(isLocalAddress(address), false, address);
  }
});

test('text that is no address is neither', () => {
  for (const text of NO_ADDRESS) {
    assert.equal(isLocalAddress(text), false, text);
    assert.equal(isPublicAddress(text), false, text);
  }
});
