import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';

test('importing the agent and making its models loads no SDK, no HTTP client and no schema library', () => {
  const script = `
    import { registerHooks } from 'node:module';
    const loaded = [];
    registerHooks({ load: (url, context, next) => (loaded.push(url), next(url, context)) });
    await import('./agent.ts');
    const { createModels } = await import('./models.ts');
    createModels({ config: { model: { base_url: 'http://127.0.0.1:1', name: 'x', max_tokens: 1 } }, env: {} }).modelFor();
    process.stdout.write(JSON.stringify(loaded));
  `;
  const output = execFileSync(process.execPath, ['--input-type=module', '-e', script], { cwd: import.meta.dirname });
  const loaded = JSON.parse(output.toString('utf8')) as string[];
  assert.ok(loaded.some((url) => url.endsWith('/agent/agent.ts')));
  assert.deepEqual(
    loaded.filter((url) => url.includes('/node_modules/')),
    [],
  );
});
