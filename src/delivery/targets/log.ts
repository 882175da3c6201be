// Writes the whole text as one structured line of the gateway log.

import { defineTarget, noKeys } from '../target.ts';

export const log = defineTarget({
  name: 'log',
  title: 'Gateway log',
  builtIn: true,
  settings: noKeys,
  extra: noKeys,
  env: {},
  limit: { count: Number.MAX_SAFE_INTEGER, unit: 'utf16' },
  markup: 'gfm',
  takesEmptyText: true,
  async send(part, connection) {
    connection.log.info('Delivered to the log', { source: part.source, delivery: part.key, text: part.text });
    return { kind: 'sent' };
  },
});
