import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ToolContext } from '../agent/tool.ts';
import { createSendMessage, type Sent } from './send-message.ts';

const context: ToolContext = {
  taskId: 'run_7',
  trust: 'person',
  grantedTools: [],
  signal: new AbortController().signal,
};

test('a message goes to every address, and each outcome is told', async () => {
  const outcomes: Record<string, Sent> = {
    telegram: { kind: 'sent', note: 'In two parts.' },
    slack: { kind: 'queued' },
    email: { kind: 'failed', reason: 'email is not enabled.' },
  };
  const tool = createSendMessage(async ({ address, source }) => {
    assert.equal(source, 'run_7');
    return outcomes[address.target] ?? { kind: 'failed', reason: 'unknown' };
  });
  const result = await tool.run(tool.input.parse({ to: 'telegram,slack:C1:2,email', text: 'hi' }), context);
  assert.deepEqual(result, {
    output:
      'Sent to telegram. In two parts.\nQueued for slack:C1:2; it is retried until it arrives.\nNot sent to email: email is not enabled.',
    failed: true,
  });
});

test('an address that cannot be read is refused before anything is sent', async () => {
  const tool = createSendMessage(async () => assert.fail('nothing may be sent'));
  assert.equal((await tool.run(tool.input.parse({ to: 'telegram,', text: 'hi' }), context)).failed, true);
});
