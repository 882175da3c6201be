import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type Address, addressWithExtra, formatAddress, parseAddresses } from './address.ts';

function parseOne(text: string): Address | undefined {
  const parsed = parseAddresses(text);
  return parsed.kind === 'ok' ? parsed.addresses[0] : undefined;
}

test('an address is a target, a chat and a thread', () => {
  assert.deepEqual(parseOne('log'), { target: 'log' });
  assert.deepEqual(parseOne('origin'), { target: 'origin' });
  assert.deepEqual(parseOne('sms:+4915112345'), { target: 'sms', chatId: '+4915112345' });
  assert.deepEqual(parseOne('telegram:-100123:17'), { target: 'telegram', chatId: '-100123', threadId: '17' });
});

test('the spelling of the user is kept', () => {
  assert.deepEqual(parseOne('messenger_1:5:6'), { target: 'messenger_1', chatId: '5', threadId: '6' });
});

test('ids with colons survive', () => {
  assert.deepEqual(parseOne('matrix:!abc:example.org'), { target: 'matrix', chatId: '!abc:example.org' });
  assert.deepEqual(parseOne('messenger_6:#ops:example.org:8448:$event'), {
    target: 'messenger_6',
    chatId: '#ops:example.org:8448',
    threadId: '$event',
  });
  assert.deepEqual(parseOne('signal:group:aGk='), { target: 'signal', chatId: 'group:aGk=' });
  assert.deepEqual(parseOne('qqbot:c2c:ABC'), { target: 'qqbot', chatId: 'c2c:ABC' });
  assert.deepEqual(parseOne('webhook:https://example.org:8443/in?a=b'), {
    target: 'webhook',
    chatId: 'https://example.org:8443/in?a=b',
  });
});

test('several addresses are separated by commas and equal ones kept once', () => {
  const parsed = parseAddresses('log, telegram:5,log');
  assert.deepEqual(parsed, { kind: 'ok', addresses: [{ target: 'log' }, { target: 'telegram', chatId: '5' }] });
});

test('what is not an address is refused with the form', () => {
  for (const text of ['', 'log,', 'telegram:', 'telegram:1:2:3', ':5', 'a b:1', 'telegram:5:']) {
    const parsed = parseAddresses(text);
    assert.equal(parsed.kind, 'invalid', text);
    if (parsed.kind === 'invalid') assert.match(parsed.reason, /target/);
  }
});

test('what was formatted is read back the same', () => {
  const part = fc.stringMatching(/^[\w!#@.+-]{1,12}$/);
  fc.assert(
    fc.property(
      fc.constantFrom('telegram', 'slack', 'sms', 'matrix'),
      part,
      fc.option(part),
      (target, chatId, thread) => {
        const threadId = thread === null ? undefined : target === 'matrix' ? `$${thread}` : thread;
        const address: Address = { target, chatId, ...(threadId === undefined ? {} : { threadId }) };
        assert.deepEqual(parseOne(formatAddress(address)), address);
      },
    ),
  );
});

test('deliver_extra fills in chat and thread under both names and keeps the other keys', () => {
  assert.deepEqual(addressWithExtra({ target: 'telegram' }, { chat_id: '7', message_thread_id: '3' }), {
    target: 'telegram',
    chatId: '7',
    threadId: '3',
  });
  assert.deepEqual(addressWithExtra({ target: 'telegram', chatId: '1' }, { thread_id: '3' }), {
    target: 'telegram',
    chatId: '1',
    threadId: '3',
  });
  assert.deepEqual(addressWithExtra({ target: 'github_comment' }, { repo: 'o/r', pr_number: '4' }), {
    target: 'github_comment',
    extra: { repo: 'o/r', pr_number: '4' },
  });
});
