import { textAt } from '../judge.ts';
import { testHttpTarget } from '../target.contract.ts';
import { signal } from './signal.ts';

testHttpTarget({
  target: signal,
  platform: (url) => ({ enabled: true, extra: { base_url: url, account: '+4915100000001' } }),
  address: { target: 'messenger_4', chatId: 'group:aGVsbG8gd29ybGQ=' },
  text: '**Build** done',
  request: {
    method: 'POST',
    path: '/api/v1/rpc',
    json: {
      jsonrpc: '2.0',
      id: 'dlv_0k3v9a7b2c000abcdefgh',
      method: 'send',
      params: { account: '+4915100000001', groupId: 'aGVsbG8gd29ybGQ=', message: 'Build done' },
    },
  },
  success: { json: { jsonrpc: '2.0', result: { timestamp: 1631458508784, results: [] }, id: 'x' } },
  receipt: '1631458508784',
  refusal: {
    reply: { json: { jsonrpc: '2.0', error: { code: -1, message: 'Invalid group id' }, id: 'x' } },
    words: /Invalid group id/,
  },
  rateLimit: {
    reply: { json: { jsonrpc: '2.0', error: { code: -5, message: 'Failed to send: rate limit' }, id: 'x' } },
  },
  expired: {
    reply: {
      json: { jsonrpc: '2.0', error: { code: -1, message: 'User +4915100000001 is not registered.' }, id: 'x' },
    },
    words: /not registered/,
  },
  secrets: [],
  check: {
    path: '/api/v1/rpc',
    reply: { json: { jsonrpc: '2.0', result: [{ number: '+4915100000001', isRegistered: true }], id: 'check' } },
    who: '+4915100000001',
  },
  textOf: (request) => textAt(request.json, 'params.message') ?? '',
});
