// A harmless tool for agents in tests.

import { z } from 'zod';
import { defineTool } from '../../src/agent/tool.ts';

export const adder = defineTool({
  name: 'add',
  description: 'Adds two numbers.',
  input: z.object({ a: z.number(), b: z.number() }),
  toolsets: [],
  parallel: true,
  run: async ({ a, b }) => ({ output: String(a + b) }),
});
