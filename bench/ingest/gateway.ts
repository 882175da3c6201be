// A whole gateway in a process of its own. Says its address, and on request how much memory it holds after a collection.

import { startGateway } from '../../src/gateway.ts';

const [home = ''] = process.argv.slice(2);
const gateway = await startGateway({
  env: { HOME: home, PATH: process.env.PATH },
  home,
  version: 'bench',
  onFatal: (error) => {
    throw error;
  },
});
process.on('message', (message) => {
  if (message === 'memory') {
    globalThis.gc?.();
    process.send?.({ bytes: process.memoryUsage().rss });
  } else void gateway.stop(5000).then(() => process.exit(0));
});
process.send?.({ url: gateway.url });
